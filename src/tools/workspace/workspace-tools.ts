import type { Clock } from '../../ports/clock.ts'
import type { Tool } from '../../ports/tool.ts'
import type { Containment, Workspaces } from '../../ports/workspaces.ts'
import { fileTools } from './file-tools.ts'
import { forOwnOrganization } from './own-organization.ts'
import { processTool } from './process.ts'
import { shell } from './shell.ts'

export type WorkspaceToolDeps = {
  workspaces: Workspaces
  containment: Containment
  clock: Clock
  /** How long one call may wait for a command. */
  longestWaitSeconds?: number
}

const LONGEST_WAIT_SECONDS = 600

/** What an agent can do on this machine, inside its conversation's workspace. None is attached unless asked for. */
export function workspaceTools({ longestWaitSeconds = LONGEST_WAIT_SECONDS, ...parts }: WorkspaceToolDeps): Tool[] {
  const tools = [
    shell({ ...parts, longestWaitSeconds }),
    processTool({ ...parts, longestWaitSeconds }),
    ...fileTools(parts.workspaces),
  ]
  return parts.containment === 'local' ? tools.map(forOwnOrganization) : tools
}
