import type { ConversationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { OpenedPage } from '../../ports/workspaces.ts'
import { auditStart } from '../people/audit.ts'
import type { ServiceContext } from '../service-context.ts'
import { showWorkspace, withWorkspaceProblems } from './workspaces.ts'

/** Without a port: the only one that is open. */
export type OpenPageRequest = { conversationId: ConversationId; port?: number; minutes: number }

/** Opens a port of a workspace for a browser on the machine of this process. */
export async function openPage(
  { conversationId, port: wanted, minutes }: OpenPageRequest,
  context: ServiceContext,
): Promise<OpenedPage> {
  const { state } = await showWorkspace(conversationId, context)
  const open = state.ports.map(({ port }) => port)
  const port = wanted ?? (open.length === 1 ? open[0] : undefined)
  if (port === undefined || !open.includes(port)) throw unknownPort(wanted, open)
  await auditStart({ verb: 'workspace.open-page', object: conversationId, detail: `port ${port}` }, context)
  return withWorkspaceProblems(context.workspaces.openPage({ conversationId, port, minutes }))
}

export async function closePage(
  { conversationId, pageId }: { conversationId: ConversationId; pageId: string },
  context: ServiceContext,
): Promise<void> {
  await showWorkspace(conversationId, context)
  if (!(await context.workspaces.closePage(conversationId, pageId)))
    throw new Problem('not-found', `The page "${pageId.slice(0, 80)}" is not open in this workspace.`)
}

function unknownPort(wanted: number | undefined, open: number[]): Problem {
  const ports = `Open ports: ${open.join(', ')}.`
  if (open.length === 0)
    return new Problem(
      'conflict',
      'No process of this workspace listens on a port. Have the agent start a server first.',
    )
  if (wanted === undefined) return new Problem('invalid', `Several ports are open: name one. ${ports}`)
  return new Problem('conflict', `No process of this workspace listens on port ${wanted}. ${ports}`)
}
