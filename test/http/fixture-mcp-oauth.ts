import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { type App, openApp } from '../../src/app.ts'
import { realClock } from '../../src/config/real-clock.ts'
import { startServer } from '../../src/http/server.ts'
import type { Answer } from '../../src/providers/scripted/reply.ts'
import { newScriptedProvider } from '../../src/providers/scripted/script.ts'
import { type AuthorizationServer, startAuthorizationServer } from '../harness/authorization-server.ts'
import { type McpTestServer, startMcpServer, text } from '../harness/mcp-server.ts'
import { requestOf } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

export type ShownMcpServer = {
  id: string
  server_name: string
  connection: { state: string; detail: string | null }
  authorization: { state: string; detail: string | null; authorization_url: string | null; issuer: string | null }
}

type Asked<T = never> = { status: number; body: T }

export type OAuthFixture = {
  app: App
  client: Letta
  url: string
  home: string
  issuer: AuthorizationServer
  remote: McpTestServer
  ask<T = ShownMcpServer & { detail: string }>(
    method: string,
    path: string,
    body?: object,
    key?: string,
  ): Promise<Asked<T>>
  /** Registers the server of this test. */
  add(config?: object): Promise<ShownMcpServer>
  show(id: string): Promise<ShownMcpServer>
  /** Begins an authorization, and returns the address to open. */
  begin(id: string, body?: object): Promise<string>
  /** The whole of it, as a person with a browser does it. */
  connect(id: string): Promise<void>
  /** One turn whose model calls the tool; returns what the tool returned and how the run ended. */
  turn(): Promise<{ output: string; status: string | undefined; stopReason: string | null }>
  /** Another server on the same database and with the same key file. */
  another(): Promise<Pick<OAuthFixture, 'turn' | 'ask' | 'url'>>
}

type OAuthFixtureOptions = { databaseUrl?: string; faults?: unknown[] }

/** A real server, an MCP server that asks for OAuth, its authorization server, and a model that calls its tool. */
export async function openOAuthFixture(
  context: TestContext,
  { databaseUrl = '', faults = [] }: OAuthFixtureOptions = {},
): Promise<OAuthFixture> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-mcp-oauth-'))
  const issuer = await startAuthorizationServer()
  const remote = await startMcpServer([{ name: 'look', run: () => text('the sea is calm') }])
  issuer.protect(remote)
  const first = await serve(home)
  const { app, client, url, ask } = first
  context.after(async () => {
    await remote.close()
    await issuer.close()
    rmSync(home, { recursive: true, force: true })
    assert.deepEqual(faults, [])
  })

  async function serve(inHome: string) {
    const script: Answer[] = [{ calls: [{ tool: 'look', input: {} }] }, { text: 'Done.' }]
    const provider = newScriptedProvider({ clock: realClock, scriptFor: () => script })
    const report = (fault: unknown) => void faults.push(fault)
    const opened = await openApp({
      environment: { HOLDFAST_HOME: inHome, DATABASE_URL: databaseUrl },
      role: 'owner',
      providers: { test: provider },
      report,
    })
    const server = await startServer({
      context: opened.context,
      host: '127.0.0.1',
      port: 0,
      apiKey: KEY,
      version: 'test',
      report,
    })
    context.after(async () => {
      await server.close()
      await opened.close()
    })
    const own = new Letta({ baseURL: server.url, apiKey: KEY, maxRetries: 0 })
    return {
      app: opened,
      client: own,
      url: server.url,
      async ask(method: string, path: string, body?: object, key = KEY) {
        const response = await fetch(`${server.url}${path}`, { method, ...requestOf(key, body) })
        return { status: response.status, body: (await response.json()) as never }
      },
      async turn() {
        const agent = await own.agents.create({ model: 'test/model', tools: ['look'], include_base_tools: false })
        const { id } = await own.agents.messages.createAsync(agent.id, { input: 'look at the sea' })
        for (;;) {
          const run = await own.runs.retrieve(id)
          if (run.status === 'created' || run.status === 'running') {
            await new Promise((resolve) => setTimeout(resolve, 20))
            continue
          }
          const messages = (await own.runs.messages.list(id)).getPaginatedItems()
          const found = messages.find((message) => message.message_type === 'tool_return_message')
          const { tool_return: output } = found as unknown as { tool_return: string }
          return { output, status: run.status, stopReason: run.stop_reason ?? null }
        }
      },
    }
  }

  const show = async (id: string) => (await ask('GET', `/v1/mcp-servers/${id}`)).body as ShownMcpServer
  const begin = async (id: string, body: object = {}) => {
    const begun = await ask('POST', `/v1/mcp-servers/${id}/connect`, body)
    assert.equal(begun.status, 200, JSON.stringify(begun.body))
    return (begun.body as { authorization_url: string }).authorization_url
  }
  return {
    ...first,
    app,
    home,
    issuer,
    remote,
    ask,
    url,
    client,
    show,
    begin,
    async add(config = { mcp_server_type: 'streamable_http', server_url: remote.url }) {
      const created = await ask('POST', '/v1/mcp-servers', { server_name: 'sea', config })
      assert.equal(created.status, 200, JSON.stringify(created.body))
      return created.body as ShownMcpServer
    },
    async connect(id) {
      const returned = await fetch(await issuer.visit(await begin(id)))
      assert.equal(returned.status, 200, await returned.text())
    },
    another() {
      const elsewhere = mkdtempSync(join(tmpdir(), 'holdfast-mcp-oauth-'))
      context.after(() => rmSync(elsewhere, { recursive: true, force: true }))
      copyFileSync(join(home, 'secret.key'), join(elsewhere, 'secret.key'))
      return serve(elsewhere)
    },
  }
}
