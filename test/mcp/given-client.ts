import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import { DEFAULT_ORGANIZATION, type McpServerId } from '../../src/core/id.ts'
import type { McpAddress, McpPlace, McpSecrets, McpServer } from '../../src/core/mcp-server.ts'
import type { Effects } from '../../src/core/tool-call.ts'
import type { Mcp, McpCallContext } from '../../src/ports/mcp.ts'
import { type McpClientParts, newMcpClient } from '../../src/tools/mcp/mcp-client.ts'
import { type McpTestServer, type ServedTool, startMcpServer } from '../harness/mcp-server.ts'
import { ANYWHERE } from './given-outbound.ts'

export type GivenClient = {
  mcp: Mcp
  remote: McpTestServer
  server(place?: McpPlace, secrets?: McpSecrets): McpServer
  call(server: McpServer, tool: string, wish?: CallWish): ReturnType<Mcp['call']>
}

export type CallWish = Partial<McpCallContext> & { input?: Record<string, string>; effects?: Effects }

export const TRANSPORTS: McpAddress['type'][] = ['streamable_http', 'sse']

export const addressOf = (remote: McpTestServer, type: McpAddress['type']): McpAddress => ({
  type,
  url: type === 'sse' ? remote.sseUrl : remote.url,
})

/** The client, a server it can talk to, and nothing between them. */
export async function givenClient(
  context: TestContext,
  tools: ServedTool[],
  hurry: Partial<McpClientParts> = {},
): Promise<GivenClient> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-mcp-'))
  const remote = await startMcpServer(tools)
  const known = new Map<string, McpServer>()
  const servers = { get: async (_: string, id: McpServerId) => known.get(id) }
  const mcp = newMcpClient({ servers, box: openSecretKeys(home).box, fetch: ANYWHERE, ...hurry })
  context.after(async () => {
    await mcp.close()
    await remote.close()
    rmSync(home, { recursive: true, force: true })
  })
  return {
    mcp,
    remote,
    server(place = addressOf(remote, 'streamable_http'), secrets) {
      const id: McpServerId = `mcp_server-${randomUUID()}`
      const server: McpServer = {
        ...{ id, organizationId: DEFAULT_ORGANIZATION, name: 'tools', place, revision: 1, createdAt: 0, updatedAt: 0 },
        ...{ contact: { state: 'reached', at: 0 } },
        ...(secrets ? { sealed: mcp.seal(secrets, id) } : {}),
      }
      known.set(id, server)
      return server
    },
    call: (server, tool, { input = {}, effects = 'once', ...context } = {}) =>
      mcp.call(
        {
          organizationId: DEFAULT_ORGANIZATION,
          link: { serverId: server.id, toolName: tool, effects },
          input,
        },
        {
          signal: new AbortController().signal,
          idempotencyKey: 'key-1',
          progress: () => undefined,
          ...context,
        },
      ),
  }
}
