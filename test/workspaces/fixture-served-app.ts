import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { type App, openApp } from '../../src/app.ts'
import { startServer } from '../../src/http/server.ts'
import type { ModelProvider } from '../../src/ports/model.ts'
import { lastInput, sinceInput } from '../../src/providers/scripted/current-turn.ts'
import { newScriptedProvider } from '../../src/providers/scripted/script.ts'
import { KEY } from '../http/fixture-server-process.ts'

export type Answer = { status: number; body: never }

/** The whole app with its server in this process, and the official client for it. */
export type ServedApp = {
  app: App
  home: string
  client: Letta
  ask(method: string, path: string, options?: { body?: unknown; key?: string | undefined }): Promise<Answer>
  /** Has the agent call a tool, which must succeed, and returns its output. */
  call(agentId: string, tool: string, input: object): Promise<string>
}

const ALL_TOOLS = ['shell', 'process', 'read_file', 'write_file', 'edit_file', 'search_files']

export async function serveApp(context: TestContext, environment: Record<string, string> = {}): Promise<ServedApp> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-app-'))
  const faults: unknown[] = []
  const report = (fault: unknown) => void faults.push(fault)
  const app = await openApp({
    environment: { PATH: process.env.PATH, HOLDFAST_HOME: home, HOLDFAST_DURABILITY: 'relaxed', ...environment },
    role: 'owner',
    providers: { puppet: puppet() },
    report,
  })
  const server = await startServer({
    context: app.context,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    report,
  })
  context.after(async () => {
    await server.close()
    await removeWorkspaces(app)
    await app.close()
    rmSync(home, { recursive: true, force: true })
    assert.deepEqual(faults, [])
  })
  const client = new Letta({ baseURL: server.url, apiKey: KEY, maxRetries: 0 })
  return {
    app,
    home,
    client,
    async ask(method, path, { body, key = KEY } = {}) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const init = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await fetch(`${server.url}${path}`, { method, headers, ...init })
      const text = await response.text()
      return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as never }
    },
    async call(agentId, tool, input) {
      const { messages } = await client.agents.messages.create(agentId, { input: JSON.stringify({ tool, input }) })
      const answer = messages.findLast((one) => one.message_type === 'tool_return_message')
      const { status, tool_return } = (answer ?? {}) as { status?: string; tool_return?: unknown }
      assert.equal(status, 'success', JSON.stringify(messages))
      return String(tool_return)
    },
  }
}

/** A model that calls the tool given as JSON in the message, and then ends its turn. */
function puppet(): ModelProvider {
  const clock = { sleep: async () => {} }
  return newScriptedProvider({
    clock,
    scriptFor({ messages }) {
      const input = lastInput(messages)
      const isAnswered = sinceInput(messages).length > 0
      return isAnswered || !input.startsWith('{')
        ? [{ text: 'Done.' }, { text: 'Done.' }]
        : [{ calls: [JSON.parse(input)] }]
    },
  })
}

export const workspaceAgent = (client: Letta, tools: string[] = ALL_TOOLS) =>
  client.agents.create({ model: 'puppet/any', tools, include_base_tools: false })

/** No process of a test may outlive it. */
export async function removeWorkspaces({ context: serviceContext }: Pick<App, 'context'>): Promise<void> {
  const { workspaces } = serviceContext
  for (const id of (await workspaces?.list()) ?? []) await workspaces?.remove(id)
}
