import type { TurnEvent } from '../core/event.ts'
import type { Store } from '../ports/store.ts'

/** Lets others in this process hear what its turns commit. */
export type Hearing = { listen(listener: (event: TurnEvent) => void): () => void }

/** The store, telling each event once it is durable. */
export function tellEvents(store: Store): { store: Store; hearing: Hearing } {
  const listeners = new Set<(event: TurnEvent) => void>()
  const { events } = store
  const telling: Store['events'] = {
    ...events,
    async append(append) {
      const result = await events.append(append)
      if (result.type === 'appended' && listeners.size > 0)
        for (const { event } of result.intentsKept ? [...append.facts, ...append.intents] : append.facts)
          for (const listener of listeners) listener(event)
      return result
    },
  }
  return {
    store: { ...store, events: telling },
    hearing: {
      listen(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
  }
}
