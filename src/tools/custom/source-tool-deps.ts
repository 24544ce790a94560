import type { Agent } from '../../core/agent.ts'
import type { Block } from '../../core/block.ts'
import type { AgentId, ConversationId, OrganizationId } from '../../core/id.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Digest } from '../../ports/digest.ts'
import type { PythonPackages } from '../../ports/python-packages.ts'
import type { Containment, Workspaces } from '../../ports/workspaces.ts'

/** Time beside the call itself: creating the workspace, ending a cancelled tool. */
export const OVERHEAD_MS = 120_000

export type SourceToolDeps = {
  workspaces: Pick<Workspaces, 'open' | 'find' | 'openEgress'>
  containment: Containment
  clock: Clock
  digest: Digest
  packages: PythonPackages
  agentOf(organizationId: OrganizationId, agentId: AgentId): Promise<Agent | undefined>
  secretsOf(organizationId: OrganizationId, agentId: AgentId): Promise<Record<string, string>>
  blocksOf(organizationId: OrganizationId, conversationId: ConversationId): Promise<Block[]>
  /** How long one call may run. */
  timeoutSeconds: number
  /** The Python that the sandbox sees. */
  python?: string
}
