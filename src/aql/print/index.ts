import type { Expr, MainQuery, Pragma, TagExpr } from '../ast.ts'
import { aqlLimits } from '../language-limits.ts'
import { type Nested, Pace, runToEnd, type Steps, trampoline } from '../steps.ts'
import { flatSteps, type Layout, render } from './layout.ts'
import { Printer } from './printer.ts'

/** Target line width of a formatted query. */
const width = 100

/** The canonical text of a query: one line, without pragmas. */
export function print(query: MainQuery): string {
  return runToEnd(printSteps(query))
}

/** Cooperative variant: yields between units of work. */
export function printSteps(query: MainQuery): Steps<string> {
  return canonical(function* (printer) {
    return [featureList(query), yield* printer.query(query), ' END']
  })
}

export function printExpr(expr: Expr): string {
  return runToEnd(canonical((printer) => printer.expr(expr)))
}

export function printTagExpr(tags: TagExpr): string {
  return runToEnd(canonical((printer) => printer.tags(tags)))
}

/**
 * Pretty-prints a query: one line per stage and no redundant parentheses. Comments are lost, because they are not in
 * the AST.
 */
export function format(query: MainQuery): string {
  const layout = runToEnd(trampoline(new Printer('needed', new Pace()).query(query)))
  return `${query.pragmas.map(printPragma).join('')}${featureList(query).replace(/ $/, '\n')}${render(layout, width)}\n`
}

/**
 * Fully parenthesised text. A chain of thousands of operators would exceed the nesting limit and could not be parsed
 * again, so it gets only the parentheses that it needs.
 */
function* canonical(print: (printer: Printer) => Nested<Layout>): Steps<string> {
  const pace = new Pace()
  const printer = new Printer('all', pace)
  const layout = yield* trampoline(print(printer))
  if (printer.maxDepth <= aqlLimits.nesting) return yield* flatSteps(layout, pace)
  return yield* flatSteps(yield* trampoline(print(new Printer('needed', pace))), pace)
}

function featureList({ features }: MainQuery): string {
  return features.length === 0 ? '' : `FEATURES(${features.join(' ')}) `
}

/** On one line, unless that would change the value. */
function printPragma({ name, value }: Pragma): string {
  if (!/^\p{White_Space}|[\r\n]/u.test(value)) return `PRAGMA ${name} :=${value === '' ? '' : ' '}${value}\n`
  // CR LF would be one line break, so a value that ends in CR is followed by CR.
  return `PRAGMA ${name}\n${value}${value.endsWith('\r') ? '\r' : '\n'}ENDPRAGMA\n`
}
