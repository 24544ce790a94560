import { runImport } from '../service/imports/run-import.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

const TICK_MS = 1_000
/** Pause before an import goes on after a failure of the store. */
const RETRY_MS = 2_000

/** Carries out imports, one at a time. Those of a process that died are taken over and go on where they were. */
export function startImporter({ context }: Pick<JobDeps, 'context'>): RunningJob {
  const { engine } = context
  const { store, clock, report } = context.deps
  const stopping = new AbortController()
  const flight = newSingleFlight(report)
  const stopTicking = clock.every(TICK_MS, () => flight.run('importing', importWaiting))

  async function importWaiting(): Promise<void> {
    while (engine && !stopping.signal.aborted) {
      const lease = await store.imports.claim(engine.workerId)
      if (!lease) return
      while ((await runImport(lease, context, stopping.signal)) === 'store-failed')
        await clock.sleep(RETRY_MS, stopping.signal)
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
