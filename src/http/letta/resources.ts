import { registerApprovalRoutes } from '../holdfast/approvals.ts'
import { registerAuditRoutes } from '../holdfast/audit.ts'
import { registerCacheRoutes } from '../holdfast/cache.ts'
import { registerCommandRoutes } from '../holdfast/commands.ts'
import { registerKeyRoutes } from '../holdfast/keys.ts'
import { registerPeopleRoutes } from '../holdfast/people.ts'
import { registerWorkspaceRoutes } from '../holdfast/workspaces.ts'
import type { Routes } from '../routes.ts'
import { registerAgentBlockRoutes } from './agent-blocks.ts'
import { registerAgentFileRoutes } from './agent-file/routes.ts'
import { registerAgentToolRoutes } from './agent-tools.ts'
import { registerAgentRoutes } from './agents.ts'
import { registerBlockRoutes } from './blocks.ts'
import { registerConversationRoutes } from './conversations.ts'
import { registerMcpServerRoutes } from './mcp-servers.ts'
import { registerMessageSearchRoutes } from './message-search.ts'
import { registerModelRoutes } from './models.ts'
import { registerPassageRoutes } from './passages.ts'
import { registerTagRoutes } from './tags.ts'
import { registerToolRoutes } from './tools.ts'

/** Agents and what they are made of. */
export function registerResourceRoutes(routes: Routes): void {
  registerAgentRoutes(routes)
  registerAgentBlockRoutes(routes)
  registerAgentToolRoutes(routes)
  registerAgentFileRoutes(routes)
  registerBlockRoutes(routes)
  registerToolRoutes(routes)
  registerMcpServerRoutes(routes)
  registerPassageRoutes(routes)
  registerTagRoutes(routes)
  registerModelRoutes(routes)
  registerConversationRoutes(routes)
  registerMessageSearchRoutes(routes)
  registerApprovalRoutes(routes)
  registerCommandRoutes(routes)
  registerKeyRoutes(routes)
  registerPeopleRoutes(routes)
  registerAuditRoutes(routes)
  registerCacheRoutes(routes)
  registerWorkspaceRoutes(routes)
}
