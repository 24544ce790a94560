import type { AgentId, RunId } from '../../core/id.ts'
import type { ServiceContext } from '../service-context.ts'

/** Between two parts of the merge, so that others are served. */
const PAUSE_MS = 20
const RUNS_PAGE = 1_000

/** The runs of an agent, read before its rows are deleted: their streams are in another database. */
export async function runsOfAgent(agentId: AgentId, { deps }: ServiceContext): Promise<RunId[]> {
  const ids: RunId[] = []
  for (let after = 0; ; ) {
    const page = await deps.store.erasure.runsOf(agentId, after, RUNS_PAGE)
    ids.push(...page.map(({ id }) => id))
    if (page.length < RUNS_PAGE) return ids
    after = page.at(-1)!.number
  }
}

/**
 * Erases what a deleted agent has outside of its rows. The rows are already deleted, so a fault is only reported: the
 * eraser job repeats it. Returns the number of files.
 */
export async function eraseFiles(agentId: AgentId, runIds: readonly RunId[], context: ServiceContext): Promise<number> {
  const { deps, agentFiles } = context
  try {
    await deps.streams.erase(runIds)
    return await agentFiles.erase(agentId)
  } catch (fault) {
    deps.report(fault, `erasing the streams and files of ${agentId}`)
    return 0
  }
}

/** Takes deleted words out of the index and the log, and ends the erasures that waited for it. */
export async function finishErasures({ deps, agentFiles }: ServiceContext, signal: AbortSignal): Promise<void> {
  const { erasure } = deps.store
  const pending = await erasure.pending(RUNS_PAGE)
  if (pending.length === 0) return
  for (let isLeft = await erasure.mergeWords('first'); isLeft && !signal.aborted; ) {
    await deps.clock.sleep(PAUSE_MS, signal)
    isLeft = await erasure.mergeWords('next')
  }
  if (signal.aborted) return
  // Again: a crash may have come between the rows and the files.
  for (const { agentId } of pending) await agentFiles.erase(agentId)
  await erasure.emptyLog()
  await erasure.finished(pending.map(({ number }) => number))
}

/** Erases streams and files whose run or agent does not exist: a crash after a deletion has left them. */
export async function eraseUnknown({ deps, agentFiles }: ServiceContext): Promise<void> {
  const { erasure } = deps.store
  await deps.streams.eraseUnknown((ids) => erasure.unknownRuns(ids))
  const owners = await agentFiles.owners()
  const unknown = await erasure.unknownAgents(owners)
  // None is known: this may be the home of another database.
  if (unknown.length === owners.length) return
  for (const agentId of unknown) await agentFiles.erase(agentId)
}
