import type { World } from '../engine/world.ts'
import type { Embeddings } from '../ports/embeddings.ts'
import { newEmbedding } from './search/embed-texts.ts'

const TICK_MS = 2_000
/** Not at once: a command that is over in a moment is spared it. */
const TICKS_BEFORE_FIRST = 2
/** Slowly: searches index what they need by themselves. While turns run it waits, though not for ever. */
const INDEXING_TICKS = { idle: 5, busy: 30 }
/** At one time, and then as long a rest. */
const INDEXING_MS = 50

type Parts = {
  world: Pick<World, 'store' | 'clock' | 'report'>
  embeddings: Embeddings
  /** How many turns run in this process. */
  running(): number
}

/** Indexes what was said and embeds what was kept while there is little else to do. */
export function keepSearchReady({ world, embeddings, running }: Parts): { stop(): Promise<void> } {
  const { store, clock, report } = world
  const stopping = new AbortController()
  const shelves = embeddings.messages ? [store.passages.vectors, store.recall.vectors] : [store.passages.vectors]
  const embedding = shelves.map((vectors) => newEmbedding({ vectors, agents: store.agents, embeddings, clock }))
  const working: Record<'indexing' | 'embedding', Promise<void> | undefined> = {
    ...{ indexing: undefined, embedding: undefined },
  }
  const told = new Set<string>()
  let ticks = -TICKS_BEFORE_FIRST

  const stopTicking = clock.every(TICK_MS, () => {
    ticks += 1
    if (ticks < 0) return
    once('embedding', embed)
    if (ticks % INDEXING_TICKS[running() === 0 ? 'idle' : 'busy'] === 0) once('indexing', index)
  })

  async function embed(): Promise<void> {
    for (const one of embedding) await one.work(stopping.signal)
  }

  async function index(): Promise<void> {
    while (!stopping.signal.aborted && (await store.recall.catchUp(INDEXING_MS)) === 'more') {
      await clock.sleep(INDEXING_MS, stopping.signal)
      if (running() > 0) return
    }
  }

  function once(name: keyof typeof working, work: () => Promise<void>): void {
    working[name] ??= work()
      .then(() => void told.delete(name))
      .catch((fault) => {
        // Said once: a store that is away is asked again and again.
        if (!told.has(name) && !stopping.signal.aborted) report(fault, `${name} for search`)
        told.add(name)
      })
      .finally(() => {
        working[name] = undefined
      })
  }

  return {
    async stop() {
      stopTicking()
      stopping.abort()
      // The store is closed next: nothing of ours may still be using it.
      await Promise.all(Object.values(working))
    },
  }
}
