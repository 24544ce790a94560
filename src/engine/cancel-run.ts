import { defined } from '../core/defined.ts'
import type { CancelCause, TurnEvent } from '../core/event.ts'
import type { OrganizationId, RunId } from '../core/id.ts'
import type { Principal } from '../core/people.ts'
import { isSettled, phaseOf, type Run } from '../core/run.ts'
import { foldTurn } from '../core/turn.ts'
import type { Clock } from '../ports/clock.ts'
import type { Randomness } from '../ports/randomness.ts'
import type { Append, Store } from '../ports/store.ts'
import { decideCommit } from './journal.ts'

type CancelRunDeps = {
  store: Pick<Store, 'events' | 'runs'>
  clock: Clock
  randomness: Randomness
  /** Wake-up signal to the holder, if it is in this process. */
  notify(runId: RunId): void
}

/**
 * Cancels a run in any phase. For a running one it appends the request, and the holder ends it soon. A queued or
 * waiting run has no holder and is ended here, with one denial per open call. A settled run is returned unchanged.
 */
export async function cancelRun(
  { organizationId, runId }: { organizationId: OrganizationId; runId: RunId },
  why: { cause: CancelCause; by?: Principal },
  deps: CancelRunDeps,
): Promise<Run | undefined> {
  for (;;) {
    const run = await deps.store.runs.get(organizationId, runId)
    if (!run || isSettled(run)) return run
    const isTaken =
      run.status === 'running' ? await requestCancel(run, why, deps) : await endWithoutHolder(run, why, deps)
    if (isTaken) {
      deps.notify(runId)
      return deps.store.runs.get(organizationId, runId)
    }
    // The run changed between read and write: try again. It advances in each round, so this terminates.
  }
}

async function requestCancel(
  run: Run,
  { cause, by }: { cause: CancelCause; by?: Principal },
  { store, clock, randomness }: CancelRunDeps,
): Promise<boolean> {
  const events = await store.events.read(run.id, 0)
  if (events.some(({ event }) => event.type === 'cancel-requested')) return true
  const event: TurnEvent = { type: 'cancel-requested', v: 1, cause, ...defined({ by }) }
  const result = await store.events.append({
    runId: run.id,
    commitId: randomness.uuid(),
    writer: { type: 'guest', phases: ['running'] },
    seen: run.nextSeq,
    facts: [{ event, at: clock.now(), changes: [] }],
    intents: [],
  })
  return result.type === 'appended'
}

async function endWithoutHolder(
  run: Run,
  { cause, by }: { cause: CancelCause; by?: Principal },
  { store, clock, randomness }: CancelRunDeps,
): Promise<boolean> {
  const events = (await store.events.read(run.id, 0)).map(({ event }) => event)
  const turn = foldTurn(events)
  const isWaiting = turn.phase === 'waiting'
  const responseId = isWaiting ? { responseId: `message-${randomness.uuid()}` as const } : {}
  const cancel: TurnEvent = { type: 'cancel-requested', v: 1, cause, ...responseId, ...defined({ by }) }
  // A queued run that continues after an approval holds the conversation: no other run starts before it.
  const holdsConversation = turn.step !== undefined
  const context = { runId: run.id, at: clock.now(), holdsConversation }
  const { facts, intents } = decideCommit(turn, { facts: [cancel] }, { fence: run.fence, context })
  const append: Append = {
    runId: run.id,
    commitId: randomness.uuid(),
    writer: { type: 'guest', phases: [phaseOf(run)] },
    seen: events.length + 1,
    facts: [],
    intents: [...facts, ...intents],
  }
  return (await store.events.append(append)).type === 'appended'
}
