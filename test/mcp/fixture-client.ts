import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import { defined } from '../../src/core/defined.ts'
import { DEFAULT_ORGANIZATION, type McpServerId } from '../../src/core/id.ts'
import type { McpHttpTransport, McpSecrets, McpServer, McpTransport } from '../../src/core/mcp-server.ts'
import type { Effects } from '../../src/core/tool-call.ts'
import type { Mcp, McpCallContext } from '../../src/ports/mcp.ts'
import { type McpClientDeps, newMcpClient } from '../../src/tools/mcp/mcp-client.ts'
import { type McpTestServer, type ServedTool, startMcpServer } from '../harness/mcp-server.ts'
import { UNRESTRICTED_FETCH } from './fixture-outbound.ts'

export type McpClientFixture = {
  mcp: Mcp
  remote: McpTestServer
  server(transport?: McpTransport, secrets?: McpSecrets): McpServer
  call(server: McpServer, tool: string, request?: McpCallOptions): ReturnType<Mcp['call']>
}

export type McpCallOptions = Partial<McpCallContext> & { input?: Record<string, string>; effects?: Effects }

export const TRANSPORTS: McpHttpTransport['type'][] = ['streamable_http', 'sse']

export const addressOf = (remote: McpTestServer, type: McpHttpTransport['type']): McpHttpTransport => ({
  type,
  url: type === 'sse' ? remote.sseUrl : remote.url,
})

/** The MCP client and a real MCP server. */
export async function openMcpClientFixture(
  context: TestContext,
  tools: ServedTool[],
  options: Partial<McpClientDeps> = {},
): Promise<McpClientFixture> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-mcp-'))
  const remote = await startMcpServer(tools)
  const known = new Map<string, McpServer>()
  const servers = { get: async (_: string, id: McpServerId) => known.get(id) }
  const mcp = newMcpClient({ servers, box: openSecretKeys(home).box, fetch: UNRESTRICTED_FETCH, ...options })
  context.after(async () => {
    await mcp.close()
    await remote.close()
    rmSync(home, { recursive: true, force: true })
  })
  return {
    mcp,
    remote,
    server(transport = addressOf(remote, 'streamable_http'), secrets) {
      const id: McpServerId = `mcp_server-${randomUUID()}`
      const server: McpServer = {
        id,
        organizationId: DEFAULT_ORGANIZATION,
        name: 'tools',
        transport,
        revision: 1,
        createdAt: 0,
        updatedAt: 0,
        contact: { state: 'reached', at: 0 },
        ...defined({ sealed: secrets ? mcp.seal(secrets, id) : undefined }),
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
