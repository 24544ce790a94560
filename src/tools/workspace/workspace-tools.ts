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
  /** The longest wait of one call. */
  longestWaitSeconds?: number
}

const MAX_WAIT_SECONDS = 600

/** Tools that work in a conversation's workspace. None is attached by default. */
export function workspaceTools({ longestWaitSeconds = MAX_WAIT_SECONDS, ...deps }: WorkspaceToolDeps): Tool[] {
  const tools = [
    shell({ ...deps, longestWaitSeconds }),
    processTool({ ...deps, longestWaitSeconds }),
    ...fileTools(deps.workspaces),
  ]
  return deps.containment === 'local' ? tools.map(forOwnOrganization) : tools
}
