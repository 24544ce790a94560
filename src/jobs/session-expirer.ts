import { expireSessions } from '../service/conversations/sessions.ts'
import type { JobDeps, RunningJob } from './job.ts'
import { newSingleFlight } from './single-flight.ts'

/** Policies count in minutes. */
const TICK_MS = 15_000

/** Ends the sessions of agents with a `session_expiry` whose time is over. */
export function startSessionExpirer({ context }: JobDeps): RunningJob {
  const { deps } = context
  const flight = newSingleFlight(deps.report)
  const stopping = new AbortController()
  const stopTicking = deps.clock.every(TICK_MS, () =>
    flight.run('ending sessions', async () => void (await expireSessions(context, stopping.signal))),
  )
  return {
    async stop() {
      stopping.abort()
      stopTicking()
      await flight.stop()
    },
  }
}
