import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ChatSession } from '../../src/cli/chat/chat-session.ts'
import { runSlashCommand } from '../../src/cli/chat/slash-commands.ts'
import { NO_STATUS_ROW } from '../../src/cli/chat/status-row.ts'
import { localVerbs } from '../../src/cli/verbs.ts'
import { type ConversationId, DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import { createConversation, requireConversationById } from '../../src/service/conversations/conversations.ts'
import { expireSessions } from '../../src/service/conversations/sessions.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { missingProgram } from '../harness/programs.ts'
import { processIn } from '../workspaces/fixture-turns.ts'
import { openWorkspaceApp } from '../workspaces/fixture-workspace-app.ts'
import { until } from '../workspaces/fixture-workspaces.ts'

// What ends a session ends its processes, and the processes of no other conversation. An eviction from the cache is not
// the end of a session.

const skip = missingProgram('bwrap')

const WORK = 'echo text > file; echo began; while :; do echo on; sleep 0.05; done'

/** Two conversations of an agent, each with a process; the cache has room for one of them. */
async function openTwoSessions(context: TestContext) {
  const opened = await openWorkspaceApp(context, { environment: { HOLDFAST_CACHE_ENTRIES: '1' } })
  const { app, agent, workspaces } = opened
  async function shell(conversationId: ConversationId, command: string, more: object = {}) {
    const content = [{ type: 'text' as const, text: JSON.stringify([{ tool: 'shell', input: { command, ...more } }]) }]
    const { runId } = await sendMessage({ agent, conversationId, content }, app.context)
    await opened.wait(runId)
    return (await opened.outcomes(runId)).at(-1)!
  }
  async function begin() {
    const { id } = await createConversation(agent, app.context)
    const processId = processIn(await shell(id, WORK, { background: true }))
    const { folder } = (await workspaces.peek(id))!
    const { pid } = JSON.parse(readFileSync(join(folder, 'supervisor.json'), 'utf8')) as { pid: number }
    const state = async () => (await workspaces.find(id))!.process(processId)
    return { id, pid, state }
  }
  const [one, other] = [await begin(), await begin()]
  assert.equal(app.context.deps.historyCache!.state().evictions.entries, 1, 'the first one was evicted')
  assert.equal((await one.state())?.ending, undefined, 'an eviction ends no process')
  return { ...opened, context: app.context, shell, one, other }
}

test('a session that expires ends the processes of its conversation, also after an eviction, and keeps its files', {
  skip,
}, async (t) => {
  const { context, agent, shell, one, other } = await openTwoSessions(t)
  const setExpiry = (idleMinutes: number | undefined) =>
    context.deps.store.agents.update(DEFAULT_ORGANIZATION, agent.id, {
      // Fractions of minutes, which no entrance accepts, keep the test short.
      edit: (before) => ({
        ...before,
        settings: idleMinutes === undefined ? {} : { ...before.settings, sessionExpiry: { idleMinutes } },
      }),
      recompiles: false,
    })
  await shell(other.id, 'true')
  const lastOfOther = context.deps.clock.now()
  await setExpiry((context.deps.clock.now() - lastOfOther + 60_000) / 60_000)
  assert.equal(await expireSessions(context), 0, 'the time is not over')
  await setExpiry(0.0001)
  await until(async () => (await expireSessions(context)) > 0)
  await setExpiry(undefined)
  await until(async () => (await one.state())?.ending !== undefined)
  assert.match((await shell(one.id, 'cat file')).output, /^text\n/)
})

test('/new in a chat ends the processes of the conversation that it leaves, and of no other one', {
  skip,
}, async (t) => {
  const { context, agent, shell, one, other } = await openTwoSessions(t)
  const lines: string[] = []
  const chat = {
    context,
    verbs: localVerbs(context),
    agent,
    conversation: await requireConversationById(one.id, context),
    screen: { line: (text: string) => void lines.push(text) },
    status: NO_STATUS_ROW,
    shownRuns: new Set(),
  } as unknown as ChatSession
  await runSlashCommand('/new', chat)
  assert.match(lines.join('\n'), /Started a new conversation/)
  assert.notEqual(chat.conversation.id, one.id)
  await until(async () => (await one.state())?.ending !== undefined)
  assert.equal((await other.state())?.ending, undefined)
  assert.ok(existsSync(`/proc/${other.pid}`))
  assert.match((await shell(one.id, 'cat file')).output, /^text\n/)
})
