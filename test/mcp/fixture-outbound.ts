import { newOutbound } from '../../src/net/outbound.ts'

/** The outbound client that the app uses for MCP: without timeouts or size limits. */
export const UNRESTRICTED_FETCH = newOutbound({
  headersTimeoutMs: 0,
  idleTimeoutMs: 0,
  maxBytes: Number.POSITIVE_INFINITY,
}).fetch
