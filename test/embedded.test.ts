import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openApp } from '../src/app.ts'
import {
  defineProvider,
  defineTool,
  type Holdfast,
  type HoldfastOptions,
  openHoldfast,
  Problem,
  success,
} from '../src/embedded.ts'
import { newHoldfast } from '../src/embedding/holdfast.ts'
import { newScriptedProvider, scriptOf } from '../src/providers/scripted/script.ts'
import { newHome } from './cli/holdfast.ts'
import { gate } from './harness/tools.ts'
import { newVirtualClock } from './harness/virtual-clock.ts'
import { listenForCallbacks } from './http/callback-listener.ts'

/** Ten seconds, in days. */
const TEN_SECONDS = String(10 / 86_400)

/** Says "hello" back in capitals; calls the tool `add` when it is asked to add. */
const echo = defineProvider({
  async *stream({ messages, tools }) {
    const last = messages.at(-1)
    if (last?.role === 'tool') {
      yield { type: 'text-delta', text: `The result is ${last.outcomes[0]?.output}.` }
      yield { type: 'finish', finish: 'stop' }
      return
    }
    const part = last?.role === 'user' ? last.content[0] : undefined
    const text = part?.type === 'text' ? part.text : ''
    if (text === 'break') throw new Error('the wire is cut')
    if (text === 'add' && tools.some(({ name }) => name === 'add')) {
      yield { type: 'call-start', index: 0, callId: 'call-1', tool: 'add' }
      yield { type: 'call-delta', index: 0, json: '{"a":2,"b":3}' }
      yield { type: 'finish', finish: 'tool-calls' }
      return
    }
    yield { type: 'text-delta', text: text.toUpperCase() }
    yield { type: 'finish', finish: 'stop' }
  },
})

const add = defineTool<{ a: number; b: number }>({
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
    additionalProperties: false,
  },
  effects: 'none',
  run: async ({ a, b }) => success(String(a + b)),
})

async function embed(context: TestContext, options: HoldfastOptions = {}): Promise<Holdfast> {
  const holdfast = await openHoldfast({
    home: newHome(context),
    environment: {},
    providers: { mine: echo },
    report: (fault) => assert.fail(String(fault)),
    ...options,
  })
  context.after(() => holdfast.close())
  return holdfast
}

test('a program asks an agent on its own provider and reads the reply', async (context) => {
  const holdfast = await embed(context)
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: [] })
  const { text, run } = await holdfast.messages.ask({ agent, text: 'hello' })
  assert.deepEqual([text, run.status, run.stopReason], ['HELLO', 'completed', 'end_turn'])
  assert.equal((await holdfast.agents.get('ada')).id, agent.id)
  const roles = (await holdfast.messages.list('ada')).map(({ body }) => body.role)
  assert.deepEqual(roles, ['user', 'assistant'])
  assert.deepEqual(
    (await holdfast.runs.list({ agent: 'ada' })).map(({ id }) => id),
    [run.id],
  )
})

test('a tool of the program is run by the agents of its home', async (context) => {
  const holdfast = await embed(context, { tools: [add] })
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: ['add'] })
  assert.equal((await holdfast.messages.ask({ agent, text: 'add' })).text, 'The result is 5.')
})

test('who asks by steering a turn that ends without reading the message gets the reply of its own run', async (context) => {
  const [started, mayEnd] = [gate(), gate()]
  const hold = defineTool({
    name: 'add',
    description: 'Adds when it may.',
    inputSchema: { type: 'object' },
    effects: 'none',
    async run() {
      started.open()
      await mayEnd.promise
      return success('5')
    },
  })
  const holdfast = await embed(context, { tools: [hold] })
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: ['add'] })
  const first = await holdfast.messages.send({ agent, text: 'add', maxSteps: 1 })
  await started.promise
  const asking = holdfast.messages.ask({ agent, text: 'hello', whenBusy: 'steer' })
  while (!(await holdfast.runs.get(first.runId)).events.some(({ event }) => event.type === 'input-steered'))
    await new Promise((resolve) => setImmediate(resolve))
  mayEnd.open()
  const { run, text } = await asking
  assert.notEqual(run.id, first.runId)
  assert.deepEqual([run.stopReason, text], ['end_turn', 'HELLO'])
})

test('a guarded tool waits until the program answers its approval', async (context) => {
  const holdfast = await embed(context, { tools: [{ ...add, needsApproval: true }] })
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: ['add'] })
  const waiting = await holdfast.messages.ask({ agent, text: 'add' })
  assert.deepEqual([waiting.run.waiting, waiting.run.stopReason], [true, 'requires_approval'])
  const [pending] = await holdfast.approvals.list()
  const verdicts = pending!.calls.map(({ callId }) => ({ callId, verdict: 'approve' as const }))
  const continued = await holdfast.runs.wait(await holdfast.approvals.answer(waiting.run.id, verdicts))
  assert.equal(continued.stopReason, 'end_turn')
})

test('the chunks of a run are watched from its beginning to its end', async (context) => {
  const holdfast = await embed(context)
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: [] })
  const { runId } = await holdfast.messages.send({ agent, text: 'hello', streamTokens: true })
  const types: string[] = []
  for await (const { chunk } of holdfast.runs.watch(runId)) types.push(chunk.message_type)
  assert.ok(types.includes('assistant_message'), types.join())
  assert.equal(types.at(-1), 'done')
})

test('a message sent again under the same otid attaches to the first run', async (context) => {
  const holdfast = await embed(context)
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: [] })
  const first = await holdfast.messages.send({ agent, text: 'hello', otid: 'one' })
  assert.deepEqual(await holdfast.messages.send({ agent, text: 'hello', otid: 'one' }), {
    type: 'repeated',
    runId: first.runId,
    request: first.runId,
  })
})

test('a mistake of the program is a Problem with its kind', async (context) => {
  const holdfast = await embed(context)
  const isProblem = (kind: string) => (error: unknown) => error instanceof Problem && error.kind === kind
  await assert.rejects(holdfast.agents.get('nobody'), isProblem('not-found'))
  await assert.rejects(holdfast.agents.create({ name: ' ', model: 'mine/any' }), isProblem('invalid'))
  await assert.rejects(holdfast.agents.create({ name: 'ada', model: 'nonsense' }), isProblem('invalid'))
  await assert.rejects(async () => holdfast.runs.wait('run-of-nothing'), isProblem('not-found'))
})

test('a provider that throws fails its attempt, and the next model of the chain answers', async (context) => {
  const other = defineProvider({
    async *stream() {
      yield { type: 'text-delta', text: 'from the other' }
      yield { type: 'finish', finish: 'stop' }
    },
  })
  const clock = newVirtualClock()
  const app = await openApp({
    environment: { HOLDFAST_HOME: newHome(context) },
    role: 'owner',
    clock,
    providers: { mine: echo, other },
  })
  const holdfast = newHoldfast(app.context, { serve: () => assert.fail('no server'), close: app.close })
  context.after(() => Promise.all([app.close(), clock.advance(1_000)]))
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', fallback: ['other/any'], tools: [] })
  const asked = holdfast.messages.ask({ agent, text: 'break' })
  for (let second = 0; second < 120; second++) await clock.advance(1_000)
  const { text, run } = await asked
  assert.equal(text, 'from the other')
  const { events } = await holdfast.runs.get(run.id)
  const failed = events.flatMap(({ event }) => (event.type === 'attempt-failed' ? [event.failure] : []))
  assert.match(failed[0]?.detail ?? '', /the wire is cut/)
})

test('the memory of an agent is read and changed', async (context) => {
  const holdfast = await embed(context)
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any' })
  assert.deepEqual((await holdfast.memory.blocks(agent)).map(({ label }) => label).sort(), ['human', 'persona'])
  await holdfast.memory.setBlock(agent, 'human', 'Likes tea.')
  assert.equal((await holdfast.memory.blocks('ada')).find(({ label }) => label === 'human')?.value, 'Likes tea.')
})

test('a program serves its home over HTTP, and closing it ends the server', async (context) => {
  const holdfast = await embed(context)
  await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: [] })
  const { url, key } = await holdfast.serve({ port: 0 })
  const response = await fetch(`${url}/v1/agents/`, { headers: { authorization: `Bearer ${key}` } })
  assert.deepEqual(
    ((await response.json()) as { name: string }[]).map(({ name }) => name),
    ['ada'],
  )
  await holdfast.close()
  await assert.rejects(fetch(`${url}/v1/health/`))
})

test('the webhook of a message is called when its run ends', async (context) => {
  const listener = await listenForCallbacks()
  context.after(() => listener.close())
  const holdfast = await embed(context)
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: [] })
  const { runId } = await holdfast.messages.send({ agent, text: 'hello', callback: `${listener.url}/done` })
  await listener.called(1)
  const [{ path, body }] = listener.calls as [(typeof listener.calls)[0]]
  assert.deepEqual([path, body.run_id, body.status], ['/done', runId, 'completed'])
  assert.equal(body.metadata.result.messages[0].content, 'HELLO')
})

test('the streams of an embedded home are pruned after their retention time', async (context) => {
  const clock = newVirtualClock()
  const provider = newScriptedProvider({ clock, scriptFor: () => scriptOf({ text: 'Hello.' }) })
  const app = await openApp({
    environment: { HOLDFAST_HOME: newHome(context), HOLDFAST_STREAM_DAYS: TEN_SECONDS },
    role: 'owner',
    clock,
    providers: { test: provider },
    report: (fault) => assert.fail(String(fault)),
  })
  context.after(() => Promise.all([app.close(), clock.advance(1_000)]))
  const holdfast = newHoldfast(app.context, { serve: () => assert.fail('no server'), close: app.close })
  const { streams, store } = app.context.deps
  const agent = await holdfast.agents.create({ name: 'ada', model: 'test/model', tools: [] })
  const { run } = await holdfast.messages.ask({ agent, text: 'hello' })
  assert.equal(await streams.isGone(run), false)
  for (let second = 0; second < 120 && !(await streams.isGone(run)); second++) await clock.advance(1_000)
  assert.equal(await streams.isGone(run), true)
  assert.match(JSON.stringify(await store.messages.ofRun(run.id)), /Hello\./)
})

test('a program changes the fallback chain of an agent, and the next turn fails over along it', async (context) => {
  const dead = defineProvider({
    async *stream() {
      yield { type: 'failure', failure: { kind: 'quota-exhausted', detail: 'out of credit' } }
    },
  })
  const holdfast = await embed(context, { providers: { mine: echo, dead } })
  const agent = await holdfast.agents.create({ name: 'ada', model: 'dead/any', tools: [] })
  assert.equal((await holdfast.messages.ask({ agent: 'ada', text: 'hello' })).run.status, 'failed')
  assert.deepEqual((await holdfast.agents.update('ada', { fallback: ['mine/any'] })).fallback, ['mine/any'])
  assert.equal((await holdfast.messages.ask({ agent: 'ada', text: 'hello' })).text, 'HELLO')
  await assert.rejects(
    holdfast.agents.update(agent, { fallback: ['mine/any', 'dead/any'] }),
    /fallback\.1: "dead\/any"/,
  )
  assert.deepEqual((await holdfast.agents.get('ada')).fallback, ['mine/any'])
})

test('a program sets what its models are asked for, and a message can change the effort', async (context) => {
  const asked: unknown[] = []
  const listening = defineProvider({
    async *stream(request) {
      asked.push(request.settings)
      yield* echo.stream(request, { signal: AbortSignal.timeout(10_000) })
    },
  })
  const holdfast = await embed(context, { providers: { mine: listening } })
  const modelSettings = { temperature: 0.5, responseFormat: { type: 'json' } } as const
  const agent = await holdfast.agents.create({ name: 'ada', model: 'mine/any', tools: [], modelSettings })
  await holdfast.messages.ask({ agent, text: 'hello', reasoning: 'high' })
  const changed = await holdfast.agents.update(agent, { modelSettings: { maxOutputTokens: 50 } })
  await holdfast.messages.ask({ agent: changed, text: 'hello' })
  const plain = await holdfast.agents.update(agent, { modelSettings: {} })
  await holdfast.messages.ask({ agent: plain, text: 'hello' })
  assert.deepEqual(asked, [{ ...modelSettings, effort: 'high' }, { maxOutputTokens: 50 }, undefined])
  await assert.rejects(
    holdfast.agents.update(agent, { modelSettings: { temperature: 9 } }),
    /modelSettings\.temperature: 9/,
  )
})
