import type { ConversationId, RunId } from '../../core/id.ts'
import { isSettled, type Run } from '../../core/run.ts'
import type { World } from '../../engine/world.ts'
import { type ProcessState, type Workspace, WorkspaceError, type Workspaces } from '../../ports/workspaces.ts'
import type { Desk } from '../desk.ts'

/**
 * The rows of these conversations are gone: what they kept warm and what they have on this machine goes with them. Nobody
 * can be told of a fault any more, so it is reported, and the keeper of workspaces removes what is left.
 */
export async function closeConversations(ids: readonly ConversationId[], { world, workspaces }: Desk): Promise<void> {
  for (const id of ids) world.warm.forget(id)
  await Promise.all(
    ids.map(async (id) => {
      try {
        await workspaces.remove(id)
      } catch (fault) {
        world.report(fault, `removing the workspace of ${id}`)
      }
    }),
  )
}

type EndOptions = { workspaces: Workspaces; report(fault: unknown, where: string): void }

/** Ends everything that runs in the workspace of a conversation that begins anew; its files stay. */
export async function endProcesses(id: ConversationId, { workspaces, report }: EndOptions): Promise<void> {
  try {
    // Nothing runs in one that sleeps, so it is not woken to be asked.
    if ((await workspaces.glance(id))?.status === 'asleep') return
    const workspace = await workspaces.find(id)
    const running = (await workspace?.processes())?.filter(({ ending }) => ending === undefined) ?? []
    await Promise.all(running.map(({ processId }) => workspace?.kill(processId, 'removed')))
  } catch (fault) {
    // A conversation must be able to begin anew even where its workspace cannot be reached.
    report(fault, `ending what runs in the workspace of ${id}`)
  }
}

type Parts = { world: Pick<World, 'store' | 'clock'>; workspaces: Pick<Workspaces, 'find' | 'glance'> }

/** A run was cancelled: what it started ends, wherever it is by now. */
export async function endOfCancelled(runId: RunId, { world, workspaces }: Parts): Promise<void> {
  const run = await world.store.runs.getAnywhere(runId)
  if (run?.status !== 'cancelled') return
  const workspace = await awake(run.conversationId, workspaces)
  await unlessGone(async () => workspace?.endOf(runId, 'cancelled'))
}

/**
 * The same for a workspace that nobody looked after for a while: the process that should have done it died. A command
 * that somebody waited for goes too when its run is over: nobody can wait for it any more.
 */
export async function endWhatIsOver(conversationId: ConversationId, { world, workspaces }: Parts): Promise<void> {
  const workspace = await awake(conversationId, workspaces)
  await unlessGone(async () => {
    const running = (await workspace?.processes())?.filter(({ ending }) => ending === undefined) ?? []
    for (const process of running) {
      const run = await world.store.runs.getAnywhere(process.runId)
      if (isOver(process, { run, now: world.clock.now() })) await workspace?.kill(process.processId, 'cancelled')
    }
  })
}

/** Removed meanwhile, with its conversation: then everything in it has ended. */
async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (fault) {
    if (!(fault instanceof WorkspaceError && fault.fault === 'gone')) throw fault
  }
}

/** No call waits longer than this, a run's own or one that was made by hand and has no run. */
const LONGEST_WAIT_MS = 24 * 3_600_000

export function isOver(
  { background, startedAt }: Pick<ProcessState, 'background' | 'startedAt'>,
  { run, now }: { run: Pick<Run, 'status' | 'waiting'> | undefined; now: number },
): boolean {
  if (run?.status === 'cancelled') return true
  if (background) return false
  return run ? isSettled(run) : now - startedAt > LONGEST_WAIT_MS
}

/** Nothing runs in one that sleeps, so it is not woken to be asked. */
async function awake(
  conversationId: ConversationId,
  { find, glance }: Parts['workspaces'],
): Promise<Workspace | undefined> {
  if (glance && (await glance(conversationId))?.status !== 'awake') return undefined
  return find(conversationId)
}
