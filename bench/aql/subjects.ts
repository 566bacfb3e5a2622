import { MessageWriter } from '../../src/aql/eval/messages.ts'
import { evaluateQuery } from '../../src/aql/eval/query.ts'
import { parseQuery } from '../../src/aql/index.ts'
import { runToEnd } from '../../src/aql/steps.ts'
import type { AqlEvent } from '../../src/aql/values/event.ts'
import type { IndexedEvents } from './orders.ts'

/** A query and its hand-written counterpart, specialised for these events. */
export interface Subject {
  readonly name: string
  readonly query: string
  /** The tag of the input events. */
  readonly tag: string
  byHand(events: IndexedEvents, line: (text: string) => void): void
}

interface Order {
  readonly id: string
  readonly quantity: number
  readonly price: number
  readonly customer: { readonly city: string }
}

interface Step {
  readonly done: number
}

const message = ({ lamport, stream, offset, time, tags, appId }: AqlEvent, payload: string): string =>
  `{"type":"event","lamport":${lamport},"stream":"${stream.node}-${stream.number}","offset":${offset},` +
  `"timestamp":${time},"tags":${JSON.stringify(tags)},"appId":${JSON.stringify(appId)},"payload":${payload}}`

/** Placeholder metadata of a value from several events. */
const several = `"lamport":0,"stream":"${'.'.repeat(43)}-0","offset":0,"timestamp":0,"tags":[],"appId":"none"`
const key = ({ lamport, stream, offset }: AqlEvent): string =>
  `{"lamport":${lamport},"stream":"${stream.node}-${stream.number}","offset":${offset}}`

/** Events are in ascending order of key and time. */
const spanning = (first: AqlEvent, last: AqlEvent, payload: string): string =>
  `{"type":"event","fromKey":${key(first)},"toKey":${key(last)},"fromTime":${first.time},"toTime":${last.time},` +
  `${several},"payload":${payload}}`

const orderOf = ({ payload }: AqlEvent): Order => JSON.parse(payload) as Order
const stepOf = ({ payload }: AqlEvent): Step => JSON.parse(payload) as Step

export const subjects: readonly Subject[] = [
  {
    name: 'FILTER',
    query: "FROM 'order' FILTER _.quantity > 50",
    tag: 'order',
    byHand: (events, line) => {
      for (const event of events.of('order')) if (orderOf(event).quantity > 50) line(message(event, event.payload))
    },
  },
  {
    name: 'SELECT of a field',
    query: "FROM 'order' SELECT _.customer",
    tag: 'order',
    byHand: (events, line) => {
      for (const event of events.of('order')) line(message(event, JSON.stringify(orderOf(event).customer)))
    },
  },
  {
    name: 'SELECT of an object',
    query: "FROM 'order' FILTER _.customer.city = 'Oslo' SELECT { id: _.id, total: _.quantity * _.price }",
    tag: 'order',
    byHand: (events, line) => {
      for (const event of events.of('order')) {
        const { id, quantity, price, customer } = orderOf(event)
        if (customer.city === 'Oslo') line(message(event, JSON.stringify({ id, total: quantity * price })))
      }
    },
  },
  {
    name: 'AGGREGATE',
    query: "FROM 'step' AGGREGATE { count: SUM(1), done: SUM(_.done), most: MAX(_.done) }",
    tag: 'step',
    byHand: (events, line) => {
      const steps = events.of('step')
      let [count, done, most] = [0, 0, 0]
      let [first, last] = [steps[0] as AqlEvent, steps[0] as AqlEvent]
      for (const event of steps) {
        const step = stepOf(event)
        count++
        done += step.done
        most = Math.max(most, step.done)
        if (event.lamport < first.lamport) first = event
        if (event.lamport > last.lamport) last = event
      }
      line(spanning(first, last, JSON.stringify({ done, most, count })))
    },
  },
  {
    name: 'sub-query per event',
    query: "FROM 'order' SELECT { id: _.id, done: FROM `step:{_.id}` AGGREGATE SUM(_.done) }",
    tag: 'order',
    byHand: (events, line) => {
      for (const event of events.of('order')) {
        const { id } = orderOf(event)
        let done = 0
        let last = event
        for (const step of events.of(`step:${id}`)) {
          done += stepOf(step).done
          if (step.lamport > last.lamport) last = step
        }
        line(spanning(event, last, JSON.stringify({ id, done: [done] })))
      }
    },
  },
]

/** Runs a query as a node does, but over events in memory. */
export function run({ query }: Subject, events: IndexedEvents, line: (text: string) => void): void {
  const request = { events, appId: 'com.example.bench', order: 'asc' as const, slice: { isOver: () => false } }
  runToEnd(evaluateQuery(parseQuery(query, { now: 0n }), request, new MessageWriter(line)))
}
