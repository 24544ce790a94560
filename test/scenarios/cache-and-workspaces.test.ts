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

// What a warm agent is let go of for (room, hours) is nothing to the workspace of its conversation; what ends the
// conversation ends both.

const skip = missingProgram('bwrap')

const PLACE = 'mkdir -p deep/er; cd deep/er; export WORD=kept'
const WORK = 'echo began; while :; do echo on; sleep 0.05; done'

/** An agent with a workspace in which something runs, whose warm past can be let go of as after hours of silence. */
async function leftAlone(context: TestContext) {
  const time = { ahead: 0 }
  const clock = { ...realClock, monotonic: () => realClock.monotonic() + time.ahead }
  const turns = await openTurns(context, { clock })
  await turns.shell(PLACE)
  const processId = processIn(await turns.shell(WORK, { background: true }))
  const workspace = await turns.workspace()
  const warm = turns.fixture.context.deps.historyCache!
  function evict(): void {
    time.ahead = 3_600_001
    assert.equal(warm.sweep(), 1)
    assert.equal(warm.state().entries, 0)
    // Only for the sweep: to the engine an hour without a heartbeat is a dead worker.
    time.ahead = 0
  }
  const folder = (await turns.workspaces.peek(turns.fixture.conversationId))!.folder
  /** Who keeps the workspace: the first process of its sandbox. */
  const keeper = () => readFileSync(join(folder, 'supervisor.json'), 'utf8')
  return { turns, workspace, processId, evict, warm, keeper }
}

test('letting go of a warm agent ends no process: it works on while nobody keeps its agent', {
  skip,
}, async (context) => {
  const { workspace, processId, evict, keeper } = await leftAlone(context)
  const before = keeper()
  evict()
  const { outputBytes } = (await workspace.process(processId))!
  const later = await until(async () => {
    const state = await workspace.process(processId)
    return state!.outputBytes > outputBytes + 20 && state
  })
  assert.equal(later.ending, undefined)
  assert.equal(keeper(), before)
})

test('letting go of a warm agent touches no terminal: folder, environment and files are as they were', {
  skip,
}, async (context) => {
  const { turns, evict } = await leftAlone(context)
  await turns.shell('echo text > file')
  evict()
  assert.match((await turns.shell('pwd; echo $WORD; cat file')).output, /^\/workspace\/deep\/er\nkept\ntext\n/)
})

test('after hours of silence the same conversation finds its words, its terminal and its process; only its warmth is new', {
  skip,
}, async (context) => {
  const { turns, processId, evict, warm, keeper } = await leftAlone(context)
  const { fixture: house } = turns
  const told = house.requests.at(-1)!
  const [before, misses] = [keeper(), warm.state().misses.absent]
  evict()
  const { output } = await turns.call(
    { tool: 'process', input: { action: 'list' } },
    { tool: 'shell', input: { command: 'pwd; echo $WORD' } },
    { tool: 'process', input: { action: 'log', process_id: processId, from: 0 } },
    { tool: 'process', input: { action: 'kill', process_id: processId } },
  )
  assert.match(output, /ended on request/)
  const later = house.requests.at(-1)!
  assert.deepEqual([later.system, later.tools], [told.system, told.tools])
  assert.deepEqual(later.messages.slice(0, told.messages.length), told.messages)
  const said = JSON.stringify(later.messages.slice(told.messages.length))
  assert.match(said, new RegExp(`${processId}[\\s\\S]*running`))
  assert.match(said, /\/workspace\/deep\/er\\nkept/)
  assert.match(said, /began\\non/)
  assert.deepEqual([warm.state().misses.absent, keeper()], [misses + 1, before])
})

test('a conversation holds no connection to its provider: many share those of one, and none is left with the last', async (context) => {
  const { house } = await openRecoveryFixture(context)
  const open = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  const none = open()
  await house.ask('one')
  const one = open()
  assert.ok(one > none)
  for (let index = 0; index < 20; index++) {
    const { id: conversationId } = await createConversation(house.agent, house.context)
    await house.ask('and one more', { conversationId })
  }
  assert.equal(open(), one)
  await house.context.deps.models.find('openai')!.renewConnections!()
  await until(() => open() <= one - 1)
  // Whoever is warm was let go of nothing it needs: the next turn has a new one.
  assert.equal((await house.ask('two')).stopReason, 'end_turn')
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

test('room for one agent only ends nothing; deleting a conversation ends its processes and removes its workspace', {
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
  const keeper = JSON.parse(readFileSync(join(folder, 'supervisor.json'), 'utf8')) as { pid: number }

  await deleteConversation(conversation, app.context, AbortSignal.timeout(10_000))
  assert.deepEqual([existsSync(folder), await workspaces.find(hard.conversationId)], [false, undefined])
  await until(() => !existsSync(`/proc/${keeper.pid}`))
  assert.equal(app.context.deps.historyCache!.state().evictions['conversation-over'], 1)
  assert.equal((await (await workspaces.find(soft.conversationId))!.process(left))?.ending, undefined)
})

test('a conversation that begins anew has its processes ended and keeps its files; others keep both', {
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
