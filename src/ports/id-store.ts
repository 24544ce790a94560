import type { OrganizationId } from '../core/id.ts'

/** Objects that people name by the beginning of their id. */
export type NamedById = 'agent' | 'conv' | 'run' | 'block' | 'passage' | 'tool' | 'mcp_server' | 'schedule'

export type IdStore = {
  /** Ids that begin with this text, in order, at most `limit`. */
  beginningWith(
    organizationId: OrganizationId,
    { kind, start, limit }: { kind: NamedById; start: string; limit: number },
  ): Promise<string[]>
}
