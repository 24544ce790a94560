import type { AgentId, OrganizationId } from '../../core/id.ts'
import type { SearchEngineName } from '../../core/search-engine.ts'
import type { Environment } from '../../ports/environment.ts'
import type { SafeFetch } from '../../ports/safe-fetch.ts'

export type WebToolDeps = {
  /** For addresses that a model chose: every hop must be public. */
  fetchPage: SafeFetch
  /** For the search engine, whose address the operator chose. */
  fetchSearch: SafeFetch
  environment: Environment
  /** The operator's choice; without one, the first engine that has a key. */
  search: { engine?: SearchEngineName; baseUrl?: string }
  /** A secret of the agent, by name. */
  secretOf(organizationId: OrganizationId, agentId: AgentId, name: string): Promise<string | undefined>
}
