import type { ConversationId } from '../../core/id.ts'
import type { Workspaces } from '../../ports/workspaces.ts'
import type { Desk } from '../desk.ts'

/**
 * The rows of these conversations are gone: what they kept warm and what they have on this machine goes with them. Nobody
 * can be told of a fault any more, so it is reported, and the janitor of workspaces removes what is left.
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
