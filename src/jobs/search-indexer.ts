import { countRunningTurns } from '../service/runs/runs.ts'
import { newTextEmbedder } from './embed-texts.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

const TICK_MS = 2_000
/** So that a short command ends before the work starts. */
const TICKS_BEFORE_FIRST = 2
/** Rarely, because a search indexes what it needs; more rarely while turns run. */
const INDEXING_TICKS = { idle: 5, busy: 30 }
/** Duration of one slice of indexing, and of the pause after it. */
const INDEXING_MS = 50

/** Indexes messages and embeds messages and passages while little else runs. */
export function startSearchIndexer({ context }: Pick<JobDeps, 'context'>): RunningJob {
  const { deps, embeddings } = context
  const { store, clock, report, shares } = deps
  const stopping = new AbortController()
  const flight = newSingleFlight(report)
  const vectorStores = embeddings.messages
    ? [store.passages.vectors, store.messageSearch.vectors]
    : [store.passages.vectors]
  const embedders = vectorStores.map((vectors) =>
    newTextEmbedder({ vectors, agents: store.agents, embeddings, shares, clock }),
  )
  let ticks = -TICKS_BEFORE_FIRST

  const stopTicking = clock.every(TICK_MS, () => {
    ticks += 1
    if (ticks < 0) return
    flight.run('embedding for search', embed)
    if (ticks % INDEXING_TICKS[countRunningTurns(context) === 0 ? 'idle' : 'busy'] === 0)
      flight.run('indexing for search', index)
  })

  async function embed(): Promise<void> {
    for (const one of embedders) await one.work(stopping.signal)
  }

  async function index(): Promise<void> {
    while (!stopping.signal.aborted && (await store.messageSearch.catchUp(INDEXING_MS)) === 'more') {
      await clock.sleep(INDEXING_MS, stopping.signal)
      if (countRunningTurns(context) > 0) return
    }
  }

  return {
    async stop() {
      stopTicking()
      stopping.abort()
      await flight.stop()
    },
  }
}
