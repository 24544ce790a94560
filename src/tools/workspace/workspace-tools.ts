import type { Clock } from '../../ports/clock.ts'
import type { GatewayStore } from '../../ports/gateway-store.ts'
import type { Tool } from '../../ports/tool.ts'
import type { Containment, Workspaces } from '../../ports/workspaces.ts'
import { fileTools } from './file-tools.ts'
import { forOwnOrganization } from './own-organization.ts'
import { processTool } from './process.ts'
import { sendFile } from './send-file.ts'
import { shell } from './shell.ts'

export type WorkspaceToolDeps = {
  workspaces: Workspaces
  containment: Containment
  clock: Clock
  /** Chats to which files can be sent. Absent: none. */
  chats?: Pick<GatewayStore, 'isOfChat' | 'addFile'>
  /** The longest wait of one call. */
  longestWaitSeconds?: number
}

const MAX_WAIT_SECONDS = 600

/** Tools that work in a conversation's workspace. None is attached by default. */
export function workspaceTools({ longestWaitSeconds = MAX_WAIT_SECONDS, chats, ...deps }: WorkspaceToolDeps): Tool[] {
  const tools = [
    shell({ ...deps, longestWaitSeconds }),
    processTool({ ...deps, longestWaitSeconds }),
    ...fileTools(deps.workspaces),
    ...(chats ? [sendFile({ workspaces: deps.workspaces, clock: deps.clock, chats })] : []),
  ]
  return deps.containment === 'local' ? tools.map(forOwnOrganization) : tools
}
