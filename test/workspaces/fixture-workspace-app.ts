import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type App, openApp } from '../../src/app.ts'
import { realClock } from '../../src/config/real-clock.ts'
import type { Agent } from '../../src/core/agent.ts'
import { defined } from '../../src/core/defined.ts'
import { type ConversationId, DEFAULT_ORGANIZATION, type RunId } from '../../src/core/id.ts'
import { type Message, textOf } from '../../src/core/message.ts'
import type { Run } from '../../src/core/run.ts'
import type { ToolOutcome } from '../../src/core/tool-call.ts'
import type { Workspace, Workspaces } from '../../src/ports/workspaces.ts'
import { newScriptedProvider } from '../../src/providers/scripted/script.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import { newWorkspaces } from '../../src/workspaces/workspaces.ts'
import { type Call, outcomesIn, puppetScript } from './fixture-turns.ts'
import { QUOTA, until } from './fixture-workspaces.ts'

/** The whole app in this process, with an agent that has every tool of a workspace. */
export type WorkspaceApp = {
  home: string
  readonly app: App
  readonly workspaces: Workspaces
  agent: Agent
  conversationId: ConversationId
  begin(...calls: Call[]): Promise<RunId>
  wait(runId: RunId): Promise<Run>
  /** One tool call after the other, in one turn; the last outcome is the answer. */
  call(...calls: Call[]): Promise<ToolOutcome>
  outcomes(runId: RunId): Promise<ToolOutcome[]>
  runs(): Promise<Run[]>
  /** System messages that the server added to the conversation. */
  news(): Promise<string[]>
  workspace(): Promise<Workspace>
  /** Shuts the app down gracefully and starts the next one on the same home. */
  restart(meanwhile?: (workspaces: Workspaces) => Promise<void>): Promise<void>
}

type WorkspaceAppOptions = {
  /** Errors that may be reported; any other fails the test. */
  expects?: RegExp
  environment?: Record<string, string>
  wrapStore?: Parameters<typeof openApp>[0]['wrapStore']
}

export async function openWorkspaceApp(context: TestContext, options: WorkspaceAppOptions = {}): Promise<WorkspaceApp> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-app-'))
  const faults: unknown[] = []
  const open = () =>
    openApp({
      environment: {
        PATH: process.env.PATH,
        HOLDFAST_HOME: home,
        HOLDFAST_DURABILITY: 'relaxed',
        ...options.environment,
      },
      role: 'owner',
      providers: { puppet: newScriptedProvider({ clock: { sleep: async () => {} }, scriptFor: puppetScript }) },
      ...defined({ wrapStore: options.wrapStore }),
      report: (fault) => void faults.push(fault),
    })
  let app = await open()
  context.after(async () => {
    const { workspaces } = app.context
    for (const id of (await workspaces?.list()) ?? []) await workspaces?.remove(id)
    await app.close()
    rmSync(home, { recursive: true, force: true })
    assert.deepEqual(
      faults.filter((fault) => !options.expects?.test(String(fault))),
      [],
    )
  })
  const agent = await createAgent({ name: 'ada', model: 'puppet/any', tools: ['shell', 'process'] }, app.context)
  const conversation = await app.context.deps.store.conversations.defaultOf(DEFAULT_ORGANIZATION, agent.id)
  assert.ok(conversation)
  const conversationId = conversation.id
  const messages = (): Promise<Message[]> => app.context.deps.store.messages.context(conversationId)

  const opened: WorkspaceApp = {
    home,
    agent,
    conversationId,
    get app() {
      return app
    },
    get workspaces() {
      assert.ok(app.context.workspaces)
      return app.context.workspaces
    },
    async begin(...calls) {
      const content = [{ type: 'text' as const, text: JSON.stringify(calls) }]
      return (await sendMessage({ agent, conversationId, content }, app.context)).runId
    },
    wait: (runId) => waitForRun(runId, app.context),
    async call(...calls) {
      const runId = await opened.begin(...calls)
      assert.equal((await opened.wait(runId)).stopReason, 'end_turn')
      const last = (await opened.outcomes(runId)).at(-1)
      assert.ok(last)
      return last
    },
    outcomes: async (runId) =>
      outcomesIn((await app.context.deps.store.events.read(runId, 0)).map(({ event }) => event)),
    runs: () => app.context.deps.store.runs.list(DEFAULT_ORGANIZATION, { conversationId }, { limit: 100 }),
    news: async () => (await messages()).flatMap(({ body }) => (body.role === 'system' ? [textOf(body.content)] : [])),
    workspace: () => until(() => opened.workspaces.find(conversationId)),
    async restart(meanwhile) {
      await app.close()
      if (meanwhile) await withoutServer(home, meanwhile)
      app = await open()
    },
  }
  return opened
}

/** Opens the workspaces of the home without an app. */
export async function withoutServer(home: string, work: (workspaces: Workspaces) => Promise<void>): Promise<void> {
  const workspaces = newWorkspaces({
    folder: join(home, 'workspaces'),
    clock: realClock,
    report: () => {},
    sandbox: { containment: 'bubblewrap', quota: QUOTA, egress: [] },
  })
  try {
    await work(workspaces)
  } finally {
    await workspaces.close()
  }
}
