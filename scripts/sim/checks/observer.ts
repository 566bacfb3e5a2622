import type { ReceivedEvent } from '../event-lines.ts'
import { MonotonicSubscriber, type MonotonicSubscriberOptions } from './monotonic-subscriber.ts'
import { Subscriber, type SubscriberOptions } from './subscriber.ts'

/** The clients of a node: both subscriptions, which are opened again after a restart. */
export class Observer {
  readonly #subscriber: Subscriber
  readonly #monotonic: MonotonicSubscriber

  constructor(options: SubscriberOptions & MonotonicSubscriberOptions) {
    this.#subscriber = new Subscriber(options)
    this.#monotonic = new MonotonicSubscriber(options)
  }

  start(): void {
    this.#subscriber.start()
    this.#monotonic.start()
  }

  stop(): void {
    this.#subscriber.stop()
    this.#monotonic.stop()
  }

  forget(): void {
    this.#subscriber.forget()
    this.#monotonic.forget()
  }

  /** @param events the result of a query for all events */
  async checkComplete(events: readonly ReceivedEvent[]): Promise<void> {
    await this.#subscriber.checkComplete()
    this.#monotonic.checkComplete(events)
  }
}
