import { newOutbound } from '../../src/net/outbound.ts'

/** As the app has it for MCP: no limits of its own. */
export const UNRESTRICTED_FETCH = newOutbound({
  headersTimeoutMs: 0,
  idleTimeoutMs: 0,
  maxBytes: Number.POSITIVE_INFINITY,
}).fetch
