import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Draft, faultOf, newDraft, takePart } from '../../core/answer.ts'
import type { FailureKind } from '../../core/failure.ts'
import type { Json } from '../../core/json.ts'
import { type MessageBody, textOf } from '../../core/message.ts'
import { settle, settleDenied, type ToolCall, type ToolOutcome } from '../../core/tool-call.ts'
import type { Clock } from '../../ports/clock.ts'
import { builtinTools } from '../../tools/builtin/all.ts'
import { toolRegistry } from '../../tools/registry.ts'
import { friendlyProvider } from './friendly.ts'

const clock = { sleep: async () => {} } as unknown as Clock
let ids = 0
const randomness = { uuid: () => `${++ids}`, fraction: () => 0 }
const provider = friendlyProvider({ clock, randomness, pace: { chunkSize: 40, delayMs: 1 } })
const tools = builtinTools({ clock, randomness, home: '/nowhere' })
const registry = toolRegistry(tools)

const user = (text: string): MessageBody => ({ role: 'user', content: [{ type: 'text', text }] })

async function hear(messages: MessageBody[], having = tools, model = 'friendly'): Promise<Draft> {
  const draft = newDraft()
  const request = { model, system: '', messages, tools: having }
  for await (const part of provider.stream(request, { signal: new AbortController().signal })) takePart(draft, part)
  return draft
}

const requests: [string, string, Json][] = [
  ['what time is it', 'current_time', {}],
  ["What's the time?", 'current_time', {}],
  ['What time is it in Tokyo?', 'current_time', { timeZone: 'Asia/Tokyo' }],
  ['hey, can you tell me what time it is in New York right now', 'current_time', { timeZone: 'America/New_York' }],
  ['what time is it in san francisco', 'current_time', { timeZone: 'America/Los_Angeles' }],
  ['what time is it in europe/paris', 'current_time', { timeZone: 'Europe/Paris' }],
  ['remember that Ada likes tea', 'write_note', { text: 'Ada likes tea' }],
  ['Please remember: count to 10 tomorrow', 'write_note', { text: 'count to 10 tomorrow' }],
  ['note the door code is 1234.', 'write_note', { text: 'the door code is 1234' }],
  [`remember ${'x'.repeat(9_000)}`, 'write_note', { text: 'x'.repeat(4_000) }],
  ['what do you remember?', 'read_notes', {}],
  ['read notes', 'read_notes', {}],
  ['forget everything', 'erase_notes', {}],
  ['erase my notes', 'erase_notes', {}],
  ['count to 10', 'slow_count', { to: 10 }],
  ['please count to five', 'slow_count', { to: 5 }],
  ['count to 1000000', 'slow_count', { to: 100 }],
  ['count to -3', 'slow_count', { to: 1 }],
  ['count to the moon', 'slow_count', { to: 10 }],
  ['roll a die', 'roll_dice', { sides: 6 }],
  ['roll d20', 'roll_dice', { sides: 20 }],
  ['send a postcard to Ada saying hi', 'send_postcard', { to: 'Ada', message: 'hi' }],
  [
    'Send a postcard to Ada Lovelace, saying “how are you?”',
    'send_postcard',
    { to: 'Ada Lovelace', message: 'how are you?' },
  ],
  ['send a postcard to Ada', 'send_postcard', { to: 'Ada', message: 'Greetings from Holdfast!' }],
]

for (const [said, tool, input] of requests)
  test(`"${said.slice(0, 60)}" uses ${tool} with arguments it accepts`, async () => {
    const draft = await hear([user(said)])
    const inputs = draft.calls.map((call) => JSON.parse(call.json) as Json)
    assert.deepEqual(
      draft.calls.map((call) => call.tool),
      [tool],
    )
    assert.deepEqual(inputs, [input])
    assert.equal(registry.faultOf(registry.find(tool)!, inputs[0]!), undefined)
    assert.equal(faultOf(draft), undefined)
  })

const rolls: [string, number, number][] = [
  ['roll two dice', 2, 6],
  ['roll 3 dice please', 3, 6],
  ['roll 2d20', 2, 20],
  ['roll 99 dice', 10, 6],
]
for (const [said, count, sides] of rolls)
  test(`"${said}" rolls ${count} dice in one answer, each under its own id`, async () => {
    const { calls } = await hear([user(said)])
    assert.deepEqual(
      calls.map((call) => [call.tool, call.json]),
      Array(count).fill(['roll_dice', `{"sides":${sides}}`]),
    )
    assert.equal(new Set(calls.map((call) => call.callId)).size, count)
  })

test('the dangerous tools it uses are guarded', () => {
  for (const name of ['erase_notes', 'send_postcard']) assert.equal(registry.find(name)?.needsApproval, true)
})

test('"think about" shows reasoning before the answer', async () => {
  const { content } = await hear([user('think about the sea')])
  assert.deepEqual(
    content.map((part) => part.type),
    ['reasoning', 'text'],
  )
  assert.match(textOf(content), /the sea/)
})

const failures: [string, FailureKind][] = [
  ['fail', 'overloaded'],
  ['fail with rate limit', 'rate-limited'],
  ['fail with a timeout', 'timeout'],
  ['fail with bad credentials', 'auth-rejected'],
  ['fail with quota', 'quota-exhausted'],
  ['fail with context overflow', 'context-overflow'],
  ['fail with refusal', 'content-refused'],
  ['fail with an empty answer', 'empty-answer'],
  ['fail with malformed answer', 'malformed-answer'],
  ['fail with invalid request', 'invalid-request'],
  ['fail with unknown model', 'model-unknown'],
  ['fail with network', 'unreachable'],
]
for (const [said, kind] of failures)
  test(`"${said}" fails: ${kind}`, async () => {
    const { failure, content } = await hear([user(said)])
    assert.equal(failure?.kind, kind)
    assert.deepEqual(content, [])
  })

test('"break" fails in the middle of a sentence', async () => {
  const { failure, content } = await hear([user('break')])
  assert.equal(failure?.kind, 'overloaded')
  assert.notEqual(textOf(content), '')
})

test('a long story is long', async () => {
  assert.ok(textOf((await hear([user('tell me a long story')])).content).length > 2_500)
})

for (const said of ['help', 'hello', 'Hi!', '', 'what is the meaning of life?'])
  test(`"${said}" is answered with what can be tried`, async () => {
    const draft = await hear([user(said)])
    assert.match(textOf(draft.content), /roll two dice/)
    assert.equal(faultOf(draft), undefined)
  })

test('every sentence of the introduction that is in quotes works', async () => {
  const introduction = textOf((await hear([user('help')])).content)
  const examples = [...introduction.matchAll(/"([^"]+)"/g)].map((match) => match[1]!)
  assert.ok(examples.length >= 8)
  for (const example of examples) assert.notEqual(textOf((await hear([user(example)])).content), introduction, example)
})

test('a city it does not know is an answer, not a call', async () => {
  const { calls, content } = await hear([user('what time is it in Atlantis')])
  assert.deepEqual(calls, [])
  assert.match(textOf(content), /do not know the time zone of Atlantis/)
})

test('a tool the agent does not have is not called', async () => {
  const { calls, content } = await hear([user('roll two dice')], [])
  assert.deepEqual(calls, [])
  assert.match(textOf(content), /roll_dice.*does not have it/)
})

test('another model of this provider does not exist', async () => {
  assert.equal((await hear([user('hi')], tools, 'clever')).failure?.kind, 'model-unknown')
})

async function commentAfter(tool: string, ...outcomes: Omit<ToolOutcome, 'callId'>[]): Promise<string> {
  const callIds = outcomes.map((_, index) => `call-${index}`)
  const calls = callIds.map((callId) => ({ callId, tool, input: {} }) as ToolCall)
  const results = outcomes.map((outcome, index) => ({ ...outcome, callId: callIds[index]! }))
  const draft = await hear([
    user('do it'),
    { role: 'assistant', content: [], calls },
    { role: 'tool', outcomes: results },
  ])
  assert.deepEqual(draft.calls, [])
  assert.equal(faultOf(draft), undefined)
  return textOf(draft.content)
}

test('results are told in words', async () => {
  const rolled = (output: string) => ({ status: 'success' as const, output })
  assert.equal(await commentAfter('current_time', rolled('noon (UTC)')), 'It is noon (UTC).')
  assert.equal(
    await commentAfter('roll_dice', rolled('Rolled 2 (1 to 6)'), rolled('Rolled 5 (1 to 6)')),
    'You rolled 2 and 5: 7 in all.',
  )
  assert.equal(await commentAfter('strange_tool', rolled('ok')), 'strange_tool says: ok')
})

test('a denial is told as one, with its reason', async () => {
  const comment = await commentAfter('send_postcard', settleDenied('', 'too early'))
  assert.match(comment, /did not send the postcard.*Reason: too early/)
})

test('an unknown outcome is neither claimed nor denied', async () => {
  assert.match(await commentAfter('send_postcard', settle('', 'lost')), /cannot tell whether.*may or may not/)
})

test('an error is told with its words', async () => {
  assert.match(
    await commentAfter('current_time', { status: 'error', output: 'no such zone' }),
    /did not work. no such zone/,
  )
})

test('an input that arrives after results is answered itself', async () => {
  const call = { callId: 'call-1', tool: 'current_time', input: {} } as ToolCall
  const { calls } = await hear([
    user('what time is it'),
    { role: 'assistant', content: [], calls: [call] },
    { role: 'tool', outcomes: [{ callId: 'call-1', status: 'success', output: 'noon' }] },
    user('roll a die'),
  ])
  assert.deepEqual(
    calls.map((one) => one.tool),
    ['roll_dice'],
  )
})
