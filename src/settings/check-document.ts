import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { limits } from '../base/limits.ts'
import { isObject, type Json, type JsonObject, ownValue } from './json.ts'
import { InvalidSettings, type Problem, refuseUnstorable } from './problem.ts'
import { ageWithTwoDigits } from './retention.ts'
import { schema } from './schema.ts'
import { semanticProblems } from './semantic-rules.ts'

// A command compiles the schema for one document: optimised code costs more than it saves. A test validates the schema.
const once = { meta: false, validateSchema: false, code: { optimize: false } }
const ajv = new Ajv({ allErrors: true, verbose: true, strict: true, allowUnionTypes: true, ...once })
const matchesSchema: ValidateFunction = ajv.compile(schema)

/** Validates a document: against the JSON schema, then its semantic rules. Throws `InvalidSettings`. */
export function checked(document: Json): JsonObject {
  refuseUnstorable(document, '')
  const problems = problemsOf(document)
  if (problems.length > 0) throw new InvalidSettings(problems)
  return document as JsonObject
}

function problemsOf(document: Json): Problem[] {
  const size = Buffer.byteLength(JSON.stringify(document))
  if (size > limits.settingsDocumentBytes) {
    const detail = `The document has ${size} bytes; at most ${limits.settingsDocumentBytes} are allowed`
    return [{ path: '', title: 'MaxLength condition is not met', detail }]
  }
  if (matchesSchema(document)) return semanticProblems(document)
  const problems = schemaProblems(matchesSchema.errors ?? [])
  // All problems are reported at once, so that the user can fix them in one go.
  const known = new Set(problems.map(({ path }) => path))
  return [
    ...problems,
    ...semanticProblems(document).filter(({ path }) => !withAncestors(path).some((part) => known.has(part))),
  ]
}

/** A path and the paths of all its ancestors. */
function withAncestors(path: string): string[] {
  return path.split('/').map((_, i, steps) => steps.slice(0, i + 1).join('/'))
}

function schemaProblems(errors: readonly ErrorObject[]): Problem[] {
  // Errors of single branches of `oneOf` and `anyOf` are dropped: the error of the choice says what is allowed.
  const inChoice = ({ schemaPath }: ErrorObject) => /\/(oneOf|anyOf)\//.test(schemaPath)
  return errors.filter((error) => !inChoice(error)).map(describe)
}

function describe(error: ErrorObject): Problem {
  const { keyword, instancePath, params, data } = error
  const rule = error.parentSchema as JsonObject
  const path = pointer(instancePath)
  switch (keyword) {
    case 'type':
      return { path, title: 'Type of the value is wrong', detail: `The value must be ${String(params['type'])}` }
    case 'required':
      return { path: `${path}/${String(params['missingProperty'])}`, title: 'This property is required' }
    case 'additionalProperties':
      return {
        path,
        title: 'Property conditions are not met',
        detail: unknownProperty(String(params['additionalProperty']), rule),
      }
    case 'minLength':
      return {
        path,
        title: 'MinLength condition is not met',
        detail: `At least ${String(params['limit'])} characters are needed`,
      }
    case 'maxLength':
      return {
        path,
        title: 'MaxLength condition is not met',
        detail: `At most ${String(params['limit'])} characters are allowed`,
      }
    case 'minimum':
      return {
        path,
        title: 'Minimum condition is not met',
        detail: `The value must be at least ${String(params['limit'])}`,
      }
    case 'pattern':
      return { path, title: 'Pattern condition is not met', detail: whatIsAllowed(rule, data as Json) }
    case 'uniqueItems':
      return {
        path,
        title: 'UniqueItems condition is not met',
        detail: `Items ${[params['i'], params['j']].sort((a, b) => a - b).join(' and ')} are equal`,
      }
    case 'oneOf':
    case 'anyOf':
      return choiceProblem(path, rule, data as Json)
    default:
      return { path, title: 'Value is wrong', ...(error.message !== undefined && { detail: error.message }) }
  }
}

function choiceProblem(path: string, rule: JsonObject, value: Json): Problem {
  return { path, title: choiceTitle(rule['anyOf'], value), detail: whatIsAllowed(rule, value) }
}

/** A value whose type matches one of the choices gets the title of that choice. */
function choiceTitle(choices: Json | undefined, value: Json): string {
  for (const choice of Array.isArray(choices) ? choices.filter(isObject) : []) {
    if (typeof value === 'string' && 'pattern' in choice) return 'Pattern condition is not met'
    if (typeof value === 'number' && value < Number(choice['minimum'])) return 'Minimum condition is not met'
  }
  return 'OneOf conditions are not met'
}

function whatIsAllowed(rule: JsonObject, value: Json): string {
  const description = ownValue(rule, 'description')
  const suggestion = typeof value === 'string' ? ageWithTwoDigits(value) : undefined
  const isAge = typeof description === 'string' && description.startsWith('How old')
  const hint = isAge && suggestion !== undefined ? `; for ${String(value)} write ${suggestion}` : ''
  return `${String(description)}${hint}`
}

function unknownProperty(name: string, rule: JsonObject): string {
  const properties = ownValue(rule, 'properties')
  const patterns = ownValue(rule, 'patternProperties')
  const allowed = isObject(properties)
    ? Object.keys(properties).join(', ')
    : `names that match ${Object.keys(isObject(patterns) ? patterns : {}).join(' or ')}`
  return `Additional property '${name}' is not allowed; allowed are: ${allowed}`
}

/** Unescapes a JSON pointer: Ajv escapes `/` and `~` in names, paths of settings do not. */
function pointer(instancePath: string): string {
  return instancePath.replaceAll('~1', '/').replaceAll('~0', '~')
}
