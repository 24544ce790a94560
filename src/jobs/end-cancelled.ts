import type { ConversationId, RunId } from '../core/id.ts'
import { isSettled, type Run } from '../core/run.ts'
import { type ProcessState, type Workspace, WorkspaceError, type Workspaces } from '../ports/workspaces.ts'
import type { ServiceContext } from '../service/service-context.ts'

type EndCancelledDeps = {
  deps: Pick<ServiceContext['deps'], 'store' | 'clock'>
  workspaces: Pick<Workspaces, 'find' | 'peek'>
}

/** Ends the processes that a cancelled run started. */
export async function endProcessesOfRun(runId: RunId, { deps, workspaces }: EndCancelledDeps): Promise<void> {
  const run = await deps.store.runs.getAnywhere(runId)
  if (run?.status !== 'cancelled') return
  const workspace = await findAwakeWorkspace(run.conversationId, workspaces)
  await unlessGone(async () => workspace?.endProcessesOfRun(runId, 'cancelled'))
}

/**
 * Ends every process of a workspace whose run was cancelled while no server was running, and foreground commands whose
 * run is over: no call waits for them.
 */
export async function endFinishedProcesses(
  conversationId: ConversationId,
  { deps, workspaces }: EndCancelledDeps,
): Promise<void> {
  const workspace = await findAwakeWorkspace(conversationId, workspaces)
  await unlessGone(async () => {
    const running = (await workspace?.processes())?.filter(({ ending }) => ending === undefined) ?? []
    for (const process of running) {
      const run = await deps.store.runs.getAnywhere(process.runId)
      if (shouldEnd(process, { run, now: deps.clock.now() })) await workspace?.kill(process.processId, 'cancelled')
    }
  })
}

/** A workspace that was removed in the meantime has no processes left. */
async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (fault) {
    if (!(fault instanceof WorkspaceError && fault.fault === 'gone')) throw fault
  }
}

/** The longest that a call waits for its command; applies to commands without a stored run. */
const LONGEST_WAIT_MS = 24 * 3_600_000

export function shouldEnd(
  { background, startedAt }: Pick<ProcessState, 'background' | 'startedAt'>,
  { run, now }: { run: Pick<Run, 'status' | 'waiting'> | undefined; now: number },
): boolean {
  if (run?.status === 'cancelled') return true
  if (background) return false
  return run ? isSettled(run) : now - startedAt > LONGEST_WAIT_MS
}

/** The workspace, unless it is asleep: nothing runs in it then, and a request would wake it. */
async function findAwakeWorkspace(
  conversationId: ConversationId,
  { find, peek }: EndCancelledDeps['workspaces'],
): Promise<Workspace | undefined> {
  if ((await peek(conversationId))?.status !== 'awake') return undefined
  return find(conversationId)
}
