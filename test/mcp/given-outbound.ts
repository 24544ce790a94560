import { newOutbound } from '../../src/net/outbound.ts'

/** As the app has it for MCP: no limits of its own. */
export const ANYWHERE = newOutbound({ headersMs: 0, silenceMs: 0, maxBytes: Number.POSITIVE_INFINITY }).fetch
