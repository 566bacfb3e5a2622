import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startNode } from '../support/node.ts'

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

const dashboard = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../examples/grafana/shoal.json'), 'utf8'),
) as Dashboard

test('every metric of the dashboard is one of a node, and every histogram is used as one', async (t) => {
  const { call } = await startNode(t)
  const text = await (await call('/metrics')).text()
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  let checked = 0
  for (const { title, targets } of dashboard.panels)
    for (const { expr } of targets)
      for (const [, name = ''] of expr.matchAll(/([a-z][a-z_]*)\{/g)) {
        const histogram = name.replace(/_(bucket|sum|count)$/, '')
        const isKnown = types.has(name) || (histogram !== name && types.get(histogram) === 'histogram')
        assert.ok(isKnown, `${title}: ${name}`)
        assert.equal(expr.includes('rate(') || expr.includes('increase('), types.get(name) !== 'gauge', expr)
        checked++
      }
  assert.ok(checked >= dashboard.panels.length)
})
