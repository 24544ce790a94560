import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  McpError,
  type ToolAnnotations,
} from '@modelcontextprotocol/sdk/types.js'
import { defined } from '../../src/core/defined.ts'

export type ServedTool = {
  name: string
  description?: string
  inputSchema?: { type: 'object'; [key: string]: unknown }
  annotations?: ToolAnnotations
  run(input: Record<string, unknown>, call: { signal: AbortSignal; progress(text: string): Promise<void> }): unknown
}

export type SeenCall = {
  tool: string
  input: Record<string, unknown>
  sessionId: string | undefined
  idempotencyKey: unknown
  /** The client has sent a cancellation. */
  isCancelled: boolean
}

export type McpTestServer = {
  /** The addresses of the Streamable HTTP transport and of the older SSE transport. */
  url: string
  sseUrl: string
  tools: ServedTool[]
  calls: SeenCall[]
  requests: { method: string; path: string; headers: IncomingMessage['headers'] }[]
  sessions(): number
  /** As after a restart: the server runs and knows no session. */
  forgetSessions(): void
  /** Destroys every connection. */
  cut(): void
  /** Called before all other handling; returns true if it has answered the request. */
  intercept(handle: (request: IncomingMessage, response: ServerResponse) => boolean): void
  close(): Promise<void>
}

export const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] })

/** A real MCP server on loopback, built with the official SDK. */
export async function startMcpServer(tools: ServedTool[]): Promise<McpTestServer> {
  const streamable = new Map<string, StreamableHTTPServerTransport>()
  const older = new Map<string, SSEServerTransport>()
  const sockets = new Set<Socket>()
  const seen: Pick<McpTestServer, 'tools' | 'calls' | 'requests'> = { tools, calls: [], requests: [] }
  let intercepted: Parameters<McpTestServer['intercept']>[0] = () => false

  const http = createServer((request, response) => {
    const path = request.url!.split('?')[0]!
    seen.requests.push({ method: request.method!, path, headers: request.headers })
    if (intercepted(request, response)) return
    void serve(path, request, response).catch((fault) => {
      if (!response.headersSent) response.writeHead(500).end(String(fault))
    })
  })
  http.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

  async function serve(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (path === '/sse') {
      const transport = new SSEServerTransport('/messages', response)
      older.set(transport.sessionId, transport)
      await protocol().connect(transport)
      return
    }
    if (path === '/messages') {
      const transport = older.get(new URL(request.url!, origin).searchParams.get('sessionId') ?? '')
      if (!transport) return void response.writeHead(404).end('no such session')
      await transport.handlePostMessage(request, response)
      return
    }
    const id = request.headers['mcp-session-id'] as string | undefined
    const known = id ? streamable.get(id) : undefined
    if (known) return known.handleRequest(request, response)
    if (id) return void response.writeHead(404).end('no such session')
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void streamable.set(session, transport),
      onsessionclosed: (session) => void streamable.delete(session),
    })
    await protocol().connect(transport as never)
    await transport.handleRequest(request, response)
  }

  function protocol(): Server {
    const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
      // In pages of two, so that clients must paginate.
      const from = Number(params?.cursor ?? 0)
      const page = seen.tools.slice(from, from + 2).map(({ run: _, ...tool }) => ({
        inputSchema: { type: 'object' as const },
        ...tool,
      }))
      return { tools: page, ...defined({ nextCursor: from + 2 < seen.tools.length ? String(from + 2) : undefined }) }
    })
    server.setRequestHandler(
      CallToolRequestSchema,
      async ({ params }, { signal, sessionId, _meta, sendNotification }) => {
        const call: SeenCall = {
          tool: params.name,
          input: params.arguments ?? {},
          sessionId,
          isCancelled: false,
          idempotencyKey: _meta?.['holdfast/idempotency-key'],
        }
        seen.calls.push(call)
        signal.addEventListener('abort', () => {
          call.isCancelled = true
        })
        const tool = seen.tools.find(({ name }) => name === params.name)
        if (!tool) throw new McpError(-32602, `no tool named ${params.name}`)
        const progress = async (message: string) => {
          const progressToken = _meta?.progressToken
          if (progressToken === undefined) return
          await sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1, message } })
        }
        return (await tool.run(call.input, { signal, progress })) as CallToolResult
      },
    )
    return server
  }

  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    ...seen,
    url: `${origin}/mcp`,
    sseUrl: `${origin}/sse`,
    get tools() {
      return seen.tools
    },
    set tools(next) {
      seen.tools = next
    },
    sessions: () => streamable.size,
    forgetSessions() {
      streamable.clear()
      older.clear()
    },
    cut,
    intercept(handle) {
      intercepted = handle
    },
    async close() {
      cut()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
