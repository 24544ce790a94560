import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { ToolContext } from '../../src/ports/tool.ts'

/** A web server on loopback. */
export async function startWeb(context: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

export const toolContext = (signal = new AbortController().signal): ToolContext => ({
  signal,
  idempotencyKey: 'key',
  progress: () => {},
  agentId: 'agent-1',
  conversationId: 'conv-1',
  runId: 'run-1',
  callId: 'call-1',
})
