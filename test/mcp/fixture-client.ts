import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import { defined } from '../../src/core/defined.ts'
import { DEFAULT_ORGANIZATION, type McpServerId } from '../../src/core/id.ts'
import {
  effectsFromHints,
  type McpHttpTransport,
  type McpSecrets,
  type McpServer,
  type McpToolDefinition,
  type McpTransport,
} from '../../src/core/mcp-server.ts'
import type { Effects } from '../../src/core/tool-call.ts'
import type { Mcp, McpCallContext } from '../../src/ports/mcp.ts'
import type { StdioPrograms } from '../../src/ports/stdio-programs.ts'
import { type McpClientDeps, newMcpClient } from '../../src/tools/mcp/mcp-client.ts'
import { type McpTestServer, type ServedTool, startMcpServer } from '../harness/mcp-server.ts'
import { UNRESTRICTED_FETCH } from './fixture-outbound.ts'

/** What the client reads of a served tool. */
const definitionOf = (tool: ServedTool | undefined, name: string): McpToolDefinition => ({
  name,
  description: tool?.description ?? '',
  inputSchema: (tool?.inputSchema ?? { type: 'object' }) as never,
  effects: effectsFromHints(tool?.annotations),
})

export type McpClientFixture = {
  mcp: Mcp
  remote: McpTestServer
  /** Servers that were seen to have changed a definition. */
  recorded: McpServerId[]
  server(transport?: McpTransport, secrets?: McpSecrets): McpServer
  call(server: McpServer, tool: string, request?: McpCallOptions): ReturnType<Mcp['call']>
}

export type McpCallOptions = Partial<McpCallContext> & {
  input?: Record<string, string>
  effects?: Effects
  pinned?: McpToolDefinition
}

export const NO_PROGRAMS: StdioPrograms = {
  start: () => Promise.reject(new Error('This test has no programs.')),
  remove: async () => undefined,
  close: async () => undefined,
}

/** No server of these tests is authorized by a person. */
export const NO_OAUTH: Pick<McpClientDeps, 'credentials' | 'randomness' | 'outbound' | 'refreshOnce'> = {
  credentials: { get: async () => undefined, list: async () => [] } as never,
  randomness: { uuid: randomUUID },
  outbound: { addressFault: () => undefined, fetch: UNRESTRICTED_FETCH },
  refreshOnce: () => async () => ({ type: 'unchanged' }),
}

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
  const recorded: McpServerId[] = []
  const servers: McpClientDeps['servers'] = {
    get: async (_, id) => known.get(id),
    record: async (_, id) => {
      recorded.push(id)
      return { add: [], change: [], remove: [] }
    },
    update: async () => undefined,
  }
  const mcp = newMcpClient({
    ...NO_OAUTH,
    servers,
    programs: NO_PROGRAMS,
    clock: { now: Date.now },
    box: openSecretKeys(home).box,
    fetch: UNRESTRICTED_FETCH,
    ...options,
  })
  context.after(async () => {
    await mcp.close()
    await remote.close()
    rmSync(home, { recursive: true, force: true })
  })
  return {
    mcp,
    remote,
    recorded,
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
    call: (server, tool, { input = {}, effects = 'once', pinned, ...context } = {}) =>
      mcp.call(
        {
          organizationId: DEFAULT_ORGANIZATION,
          link: { serverId: server.id, toolName: tool, effects },
          pinned:
            pinned ??
            definitionOf(
              tools.find(({ name }) => name === tool),
              tool,
            ),
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
