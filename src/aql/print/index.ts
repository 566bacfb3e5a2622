import type { Expr, MainQuery, Pragma, TagExpr } from '../ast.ts'
import { aqlLimits } from '../language-limits.ts'
import { finish, type Nested, Pace, type Steps, unrolled } from '../steps.ts'
import { flatSteps, type Layout, render } from './layout.ts'
import { Printer } from './printer.ts'

/** Columns that a formatted query keeps to where it can. */
const width = 100

/** The canonical text of a query: in one line and without its pragmas. */
export function print(query: MainQuery): string {
  return finish(printSteps(query))
}

/** The same in steps. */
export function printSteps(query: MainQuery): Steps<string> {
  return canonical(function* (printer) {
    return [featureList(query), yield* printer.query(query), ' END']
  })
}

export function printExpr(expr: Expr): string {
  return finish(canonical((printer) => printer.expr(expr)))
}

export function printTagExpr(tags: TagExpr): string {
  return finish(canonical((printer) => printer.tags(tags)))
}

/** A text for people: a line for each stage, and no parentheses that change nothing. Comments are not in the tree, so they are lost. */
export function format(query: MainQuery): string {
  const layout = finish(unrolled(new Printer('needed', new Pace()).query(query)))
  return `${query.pragmas.map(printPragma).join('')}${featureList(query).replace(/ $/, '\n')}${render(layout, width)}\n`
}

/**
 * A chain of thousands of operators needs as many parentheses around each other, which could not be read again. Such a
 * text has only those that it needs.
 */
function* canonical(print: (printer: Printer) => Nested<Layout>): Steps<string> {
  const pace = new Pace()
  const printer = new Printer('all', pace)
  const layout = yield* unrolled(print(printer))
  if (printer.deepest <= aqlLimits.nesting) return yield* flatSteps(layout, pace)
  return yield* flatSteps(yield* unrolled(print(new Printer('needed', pace))), pace)
}

function featureList({ features }: MainQuery): string {
  return features.length === 0 ? '' : `FEATURES(${features.join(' ')}) `
}

/** In one line unless that would change the value. */
function printPragma({ name, value }: Pragma): string {
  if (!/^\p{White_Space}|[\r\n]/u.test(value)) return `PRAGMA ${name} :=${value === '' ? '' : ' '}${value}\n`
  // A carriage return and a line feed are one line break, so they must not come together here.
  return `PRAGMA ${name}\n${value}${value.endsWith('\r') ? '\r' : '\n'}ENDPRAGMA\n`
}
