import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import type { ConversationId } from '../../src/core/id.ts'
import type { ToolOutcome } from '../../src/core/tool-call.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import {
  createConversation,
  deleteConversation,
  requireConversationById,
} from '../../src/service/conversations/conversations.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { missingProgram } from '../harness/programs.ts'
import { openRecoveryFixture } from '../recovery/fixture-recovery.ts'
import { openTurns, processIn } from '../workspaces/fixture-turns.ts'
import { openWorkspaceApp, type WorkspaceApp } from '../workspaces/fixture-workspace-app.ts'
import { until } from '../workspaces/fixture-workspaces.ts'

// Evicting a conversation from the cache (limit, idle time) does not touch its workspace; deleting or resetting the
// conversation ends both.

const skip = missingProgram('bwrap')

const PLACE = 'mkdir -p deep/er; cd deep/er; export WORD=kept'
const WORK = 'echo began; while :; do echo on; sleep 0.05; done'

/** An agent whose workspace has a running process, and whose cache entry can be evicted as after hours of silence. */
async function openIdleWorkspace(context: TestContext) {
  const time = { ahead: 0 }
  const clock = { ...realClock, monotonic: () => realClock.monotonic() + time.ahead }
  const turns = await openTurns(context, { clock })
  await turns.shell(PLACE)
  const processId = processIn(await turns.shell(WORK, { background: true }))
  const workspace = await turns.workspace()
  const cache = turns.fixture.context.deps.historyCache!
  function evict(): void {
    time.ahead = 3_600_001
    assert.equal(cache.sweep(), 1)
    assert.equal(cache.state().entries, 0)
    // Only for the sweep: the engine would treat an hour without a heartbeat as a dead worker.
    time.ahead = 0
  }
  const folder = (await turns.workspaces.peek(turns.fixture.conversationId))!.folder
  /** The first process of the workspace's sandbox. */
  const supervisor = () => readFileSync(join(folder, 'supervisor.json'), 'utf8')
  return { turns, workspace, processId, evict, cache, supervisor }
}

test('an eviction ends no process: it keeps running without a cache entry', {
  skip,
}, async (context) => {
  const { workspace, processId, evict, supervisor } = await openIdleWorkspace(context)
  const before = supervisor()
  evict()
  const { outputBytes } = (await workspace.process(processId))!
  const later = await until(async () => {
    const state = await workspace.process(processId)
    return state!.outputBytes > outputBytes + 20 && state
  })
  assert.equal(later.ending, undefined)
  assert.equal(supervisor(), before)
})

test('an eviction does not change the terminal: folder, environment and files stay', {
  skip,
}, async (context) => {
  const { turns, evict } = await openIdleWorkspace(context)
  await turns.shell('echo text > file')
  evict()
  assert.match((await turns.shell('pwd; echo $WORD; cat file')).output, /^\/workspace\/deep\/er\nkept\ntext\n/)
})

test('after hours of silence a conversation has its history, terminal and process; only the cache entry is new', {
  skip,
}, async (context) => {
  const { turns, processId, evict, cache, supervisor } = await openIdleWorkspace(context)
  const { fixture } = turns
  const earlier = fixture.requests.at(-1)!
  const [before, misses] = [supervisor(), cache.state().misses.absent]
  evict()
  const { output } = await turns.call(
    { tool: 'process', input: { action: 'list' } },
    { tool: 'shell', input: { command: 'pwd; echo $WORD' } },
    { tool: 'process', input: { action: 'log', process_id: processId, from: 0 } },
    { tool: 'process', input: { action: 'kill', process_id: processId } },
  )
  assert.match(output, /ended on request/)
  const later = fixture.requests.at(-1)!
  assert.deepEqual([later.system, later.tools], [earlier.system, earlier.tools])
  assert.deepEqual(later.messages.slice(0, earlier.messages.length), earlier.messages)
  const added = JSON.stringify(later.messages.slice(earlier.messages.length))
  assert.match(added, new RegExp(`${processId}[\\s\\S]*running`))
  assert.match(added, /\/workspace\/deep\/er\\nkept/)
  assert.match(added, /began\\non/)
  assert.deepEqual([cache.state().misses.absent, supervisor()], [misses + 1, before])
})

test('conversations share the connections of a provider, and none is left after the last', async (context) => {
  const { fixture } = await openRecoveryFixture(context)
  const open = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  const none = open()
  await fixture.ask('one')
  const one = open()
  assert.ok(one > none)
  for (let index = 0; index < 20; index++) {
    const { id: conversationId } = await createConversation(fixture.agent, fixture.context)
    await fixture.ask('and one more', { conversationId })
  }
  assert.equal(open(), one)
  await fixture.context.deps.models.find('openai')!.renewConnections!()
  await until(() => open() <= one - 1)
  // A cached conversation needs no open connection: its next turn opens a new one.
  assert.equal((await fixture.ask('two')).stopReason, 'end_turn')
})

type Terminal = { conversationId: ConversationId; shell(command: string, more?: object): Promise<ToolOutcome> }

/** Another conversation of the same agent. */
async function anotherIn({ agent, app, wait, outcomes }: WorkspaceApp): Promise<Terminal> {
  const { id: conversationId } = await createConversation(agent, app.context)
  return {
    conversationId,
    async shell(command, more = {}) {
      const text = JSON.stringify([{ tool: 'shell', input: { command, ...more } }])
      const content = [{ type: 'text' as const, text }]
      const { runId } = await sendMessage({ agent, conversationId, content }, app.context)
      assert.equal((await wait(runId)).stopReason, 'end_turn')
      return (await outcomes(runId)).at(-1)!
    },
  }
}

test('an eviction at the limit ends no process; deleting a conversation ends its processes and removes its workspace', {
  skip,
}, async (context) => {
  const opened = await openWorkspaceApp(context, { environment: { HOLDFAST_CACHE_ENTRIES: '1' } })
  const { app, workspaces } = opened
  const [soft, hard] = [await anotherIn(opened), await anotherIn(opened)]
  const left = processIn(await soft.shell(WORK, { background: true }))
  await hard.shell(WORK, { background: true })
  assert.equal(app.context.deps.historyCache!.state().evictions.entries, 1)
  const { folder } = (await workspaces.peek(hard.conversationId))!
  const conversation = await requireConversationById(hard.conversationId, app.context)
  const supervisor = JSON.parse(readFileSync(join(folder, 'supervisor.json'), 'utf8')) as { pid: number }

  await deleteConversation(conversation, app.context, AbortSignal.timeout(10_000))
  assert.deepEqual([existsSync(folder), await workspaces.find(hard.conversationId)], [false, undefined])
  await until(() => !existsSync(`/proc/${supervisor.pid}`))
  assert.equal(app.context.deps.historyCache!.state().evictions['conversation-over'], 1)
  assert.equal((await (await workspaces.find(soft.conversationId))!.process(left))?.ending, undefined)
})

test('a reset ends the processes of its conversation and keeps its files; other conversations keep both', {
  skip,
}, async (context) => {
  const opened = await openWorkspaceApp(context)
  const { app, agent, workspaces } = opened
  const [one, other] = [await anotherIn(opened), await anotherIn(opened)]
  await one.shell('echo text > file')
  const [ended, left] = [
    processIn(await one.shell(WORK, { background: true })),
    processIn(await other.shell(WORK, { background: true })),
  ]
  await opened.wait(await changeContext({ agent, conversationId: one.conversationId, task: 'reset' }, app.context))
  const stateOf = async ({ conversationId }: Terminal, id: string) =>
    (await workspaces.find(conversationId))!.process(id)
  await until(async () => (await stateOf(one, ended))?.ending !== undefined)
  assert.equal((await stateOf(other, left))?.ending, undefined)
  assert.match((await one.shell('cat file')).output, /^text\n/)
})
