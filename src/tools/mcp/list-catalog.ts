import { defined } from '../../core/defined.ts'
import type { McpPrompt, McpResource } from '../../ports/mcp.ts'
import type { McpConnection, McpList, McpPage } from './connection.ts'

const MAX_ITEMS = 1_000

/** The resources and prompts of a server. A server without one of the two lists none. */
export async function listCatalog(
  connection: McpConnection,
  signal: AbortSignal,
): Promise<{ resources: McpResource[]; prompts: McpPrompt[] }> {
  const resources: McpResource[] = []
  await eachPage('resources', { connection, signal }, (page) => {
    for (const { uri, name, description, mimeType } of page.resources)
      resources.push({ uri, name, ...defined({ description, mimeType }) })
    return resources.length
  })
  const prompts: McpPrompt[] = []
  await eachPage('prompts', { connection, signal }, (page) => {
    for (const { name, description, arguments: named = [] } of page.prompts)
      prompts.push({ name, arguments: named.map((one) => one.name), ...defined({ description }) })
    return prompts.length
  })
  return { resources, prompts }
}

async function eachPage<L extends McpList>(
  list: L,
  { connection, signal }: { connection: McpConnection; signal: AbortSignal },
  add: (page: McpPage[L]) => number,
): Promise<void> {
  if (!connection.offers(list)) return
  let cursor: string | undefined
  do {
    const page = await connection.page(list, cursor, signal)
    if (add(page) > MAX_ITEMS) throw new Error(`The MCP server lists more than ${MAX_ITEMS} ${list}.`)
    cursor = page.nextCursor
  } while (cursor !== undefined)
}
