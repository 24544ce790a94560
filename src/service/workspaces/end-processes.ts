import type { ConversationId } from '../../core/id.ts'
import type { Workspaces } from '../../ports/workspaces.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * Drops the cached histories of deleted conversations and removes their workspaces. The rows are already deleted, so a
 * fault is only reported, and the workspace janitor removes what is left. Returns how many there were.
 */
export async function closeConversations(
  ids: readonly ConversationId[],
  { deps, workspaces }: ServiceContext,
): Promise<number> {
  for (const id of ids) deps.historyCache.forget(id)
  const removed = await Promise.all(
    ids.map(async (id) => {
      try {
        return await workspaces.remove(id)
      } catch (fault) {
        deps.report(fault, `removing the workspace of ${id}`)
        return false
      }
    }),
  )
  return removed.filter(Boolean).length
}

type EndProcessesDeps = { workspaces: Workspaces; report(fault: unknown, where: string): void }

/** Ends everything that runs in the workspace of a conversation whose context is reset; its files stay. */
export async function endProcesses(id: ConversationId, { workspaces, report }: EndProcessesDeps): Promise<void> {
  try {
    // Nothing runs in a workspace that is asleep, and a request would wake it.
    if ((await workspaces.peek(id))?.status === 'asleep') return
    const workspace = await workspaces.find(id)
    const running = (await workspace?.processes())?.filter(({ ending }) => ending === undefined) ?? []
    await Promise.all(running.map(({ processId }) => workspace?.kill(processId, 'removed')))
  } catch (fault) {
    // A workspace that cannot be reached does not prevent the reset of its conversation.
    report(fault, `ending the processes of the workspace of ${id}`)
  }
}
