import type { Scope } from '../core/people.ts'

/** `operator`: an administrator of the organisation the server itself belongs to. */
export type Need = Scope | 'operator'

/** Routes that ask with a body, and change nothing. */
const READING: ReadonlySet<string> = new Set([
  'POST /v1/runs/:run_id/stream',
  'POST /v1/conversations/:conversation_id/stream',
  'POST /v1/messages/search',
  'POST /v1/passages/search',
  'POST /v1/tools/search',
])

/** Who may come in, and who came: for administrators, also to look at. */
const ADMINISTRATION = /^\/v1\/(keys|users|organizations|audit)(\/|$)/

/**
 * Where agents reach out to: administrators of an organisation name its servers, and only those of the default one may
 * name what is not on the public internet. Using what they named needs no more than other work does.
 */
const REACHING_OUT = /^\/v1\/mcp-servers(\/:mcp_server_id(\/refresh)?)?$/

/** What cannot be had back: a folder with all that was made in it. */
const FOR_GOOD: ReadonlySet<string> = new Set(['DELETE /v1/workspaces/:conversation_id'])

/** What belongs to the server as a whole. */
const SERVER_WIDE: ReadonlySet<string> = new Set(['POST /v1/organizations', 'GET /metrics', 'GET /v1/cache'])

/** What a key must be allowed for a route. What is not named here and is no mere look needs `agent`. */
export function needOf(method: string, route: string): Need {
  const asked = method === 'HEAD' ? 'GET' : method
  const name = `${asked} ${route}`
  if (SERVER_WIDE.has(name)) return 'operator'
  if (ADMINISTRATION.test(route) || FOR_GOOD.has(name) || (asked !== 'GET' && REACHING_OUT.test(route))) return 'admin'
  return asked === 'GET' || asked === 'OPTIONS' || READING.has(name) ? 'read' : 'agent'
}
