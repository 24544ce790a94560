import { parseId } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import type { Run } from '../core/run.ts'
import { cancelRun as cancel } from '../engine/cancel-run.ts'
import type { Desk } from './desk.ts'

/** Asks for a run to end. Resolves when the wish is on disk; a running run ends within seconds. */
export async function cancelRun(id: string, desk: Desk): Promise<Run> {
  const { world, engine, organizationId } = desk
  const runId = parseId('run', id)
  const nudge = (which: Run['id']) => {
    engine?.dispatcher.nudge(which)
    engine?.endings.announce(which)
    engine?.dispatcher.wake('queue')
  }
  const run = runId && (await cancel({ organizationId, runId }, 'person', { ...world, nudge }))
  if (!run) throw new Problem('not-found', `There is no run "${id}". \`holdfast runs\` lists them.`)
  return run
}
