import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPart, answerFailure, type Draft, newDraft } from '../../core/answer.ts'
import type { FailureKind } from '../../core/failure.ts'
import type { Json } from '../../core/json.ts'
import { type MessageBody, textOf } from '../../core/message.ts'
import { settle, settleDenied, type ToolCall, type ToolOutcome } from '../../core/tool-call.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Workspaces } from '../../ports/workspaces.ts'
import { builtinTools } from '../../tools/builtin/all.ts'
import { demoTools } from '../../tools/demo/all.ts'
import { toolRegistry } from '../../tools/registry.ts'
import { workspaceTools } from '../../tools/workspace/workspace-tools.ts'
import { newFriendlyProvider } from './friendly.ts'

const clock = { sleep: async () => {} } as unknown as Clock
let ids = 0
const randomness = { uuid: () => `${++ids}`, fraction: () => 0 }
const provider = newFriendlyProvider({ clock, randomness, pace: { chunkSize: 40, delayMs: 1 } })
const deps = { clock, randomness, home: '/nowhere' }
const tools = [...builtinTools(deps), ...demoTools(deps)]
const registry = toolRegistry(tools)

const user = (text: string): MessageBody => ({ role: 'user', content: [{ type: 'text', text }] })

async function hear(messages: MessageBody[], having = tools, model = 'friendly'): Promise<Draft> {
  const draft = newDraft()
  const request = { model, system: '', messages, tools: having }
  for await (const part of provider.stream(request, { signal: new AbortController().signal })) addPart(draft, part)
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

for (const [sentence, tool, input] of requests)
  test(`"${sentence.slice(0, 60)}" uses ${tool} with arguments it accepts`, async () => {
    const draft = await hear([user(sentence)])
    const inputs = draft.calls.map((call) => JSON.parse(call.json) as Json)
    assert.deepEqual(
      draft.calls.map((call) => call.tool),
      [tool],
    )
    assert.deepEqual(inputs, [input])
    assert.equal(registry.inputFault(registry.find(tool)!, inputs[0]!), undefined)
    assert.equal(answerFailure(draft), undefined)
  })

const rolls: [string, number, number][] = [
  ['roll two dice', 2, 6],
  ['roll 3 dice please', 3, 6],
  ['roll 2d20', 2, 20],
  ['roll 99 dice', 10, 6],
]
for (const [sentence, count, sides] of rolls)
  test(`"${sentence}" rolls ${count} dice in one answer, each under its own id`, async () => {
    const { calls } = await hear([user(sentence)])
    assert.deepEqual(
      calls.map((call) => [call.tool, call.json]),
      Array(count).fill(['roll_dice', `{"sides":${sides}}`]),
    )
    assert.equal(new Set(calls.map((call) => call.callId)).size, count)
  })

test('the dangerous tools it uses need approval', () => {
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
for (const [sentence, kind] of failures)
  test(`"${sentence}" fails: ${kind}`, async () => {
    const { failure, content } = await hear([user(sentence)])
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

for (const sentence of ['help', 'hello', 'Hi!', '', 'what is the meaning of life?'])
  test(`"${sentence}" is answered with the list of things to try`, async () => {
    const draft = await hear([user(sentence)])
    assert.match(textOf(draft.content), /roll two dice/)
    assert.equal(answerFailure(draft), undefined)
  })

test('every sentence of the introduction that is in quotes works', async () => {
  const introduction = textOf((await hear([user('help')])).content)
  const examples = [...introduction.matchAll(/"([^"]+)"/g)].map((match) => match[1]!)
  assert.ok(examples.length >= 8)
  for (const example of examples) assert.notEqual(textOf((await hear([user(example)])).content), introduction, example)
})

test('an unknown city gives an answer, not a tool call', async () => {
  const { calls, content } = await hear([user('what time is it in Atlantis')])
  assert.deepEqual(calls, [])
  assert.match(textOf(content), /do not know the time zone of Atlantis/)
})

test('a tool the agent does not have is not called', async () => {
  const { calls, content } = await hear([user('roll two dice')], [])
  assert.deepEqual(calls, [])
  assert.match(textOf(content), /roll_dice.*does not have it/)
})

test('any other model name of this provider is an unknown model', async () => {
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
  assert.equal(answerFailure(draft), undefined)
  return textOf(draft.content)
}

test('tool results are reported in sentences', async () => {
  const rolled = (output: string) => ({ status: 'success' as const, output })
  assert.equal(await commentAfter('current_time', rolled('noon (UTC)')), 'It is noon (UTC).')
  assert.equal(
    await commentAfter('roll_dice', rolled('Rolled 2 (1 to 6)'), rolled('Rolled 5 (1 to 6)')),
    'You rolled 2 and 5: 7 in all.',
  )
  assert.equal(await commentAfter('strange_tool', rolled('ok')), 'strange_tool says: ok')
})

test('a denied call is reported as denied, with the reason', async () => {
  const comment = await commentAfter('send_postcard', settleDenied('', 'too early'))
  assert.match(comment, /did not send the postcard.*Reason: too early/)
})

test('an unknown outcome is reported as unknown', async () => {
  assert.match(await commentAfter('send_postcard', settle('', 'lost')), /cannot tell whether.*may or may not/)
})

test('an error is reported with its message', async () => {
  assert.match(
    await commentAfter('current_time', { status: 'error', output: 'no such zone' }),
    /did not work. no such zone/,
  )
})

test('equal comments on several tools appear once', async () => {
  const lack = { status: 'error' as const, output: 'bubblewrap is missing.' }
  assert.equal(await commentAfter('write_file', lack, lack, lack), 'That did not work. bubblewrap is missing.')
})

test('an input that arrives after tool results gets its own answer', async () => {
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

const workspace = workspaceTools({ workspaces: {} as Workspaces, containment: 'bubblewrap', clock })
const workspaceRegistry = toolRegistry(workspace)

const work: [string, string, (input: { [key: string]: Json }) => unknown, unknown][] = [
  ['write a small program', 'write_file', ({ path }) => path, 'primes.mjs'],
  [
    'write notes/a.txt saying hello there',
    'write_file',
    ({ path, content }) => [path, content],
    ['notes/a.txt', 'hello there\n'],
  ],
  ['run uname -a', 'shell', ({ command }) => command, 'uname -a'],
  ['please run `ls -l`', 'shell', ({ command }) => command, 'ls -l'],
  ['run echo "and more"', 'shell', ({ command }) => command, 'echo "and more"'],
  ['run make server', 'shell', ({ command }) => command, 'make server'],
  [
    'run sleep 5 in the background',
    'shell',
    ({ command, background, notify }) => [command, background, notify],
    ['sleep 5', true, true],
  ],
  ['replace "twenty" with "20" in primes.mjs', 'edit_file', ({ find, replace }) => [find, replace], ['twenty', '20']],
  ['search for twenty primes', 'search_files', ({ pattern }) => pattern, 'twenty primes'],
  ['visit it', 'shell', ({ command }) => command, 'node page/visit.mjs'],
  ['read primes.mjs', 'read_file', ({ path }) => path, 'primes.mjs'],
  ['which files are there?', 'shell', ({ command }) => command, 'ls -lR'],
  ['Is it still running?', 'process', ({ action }) => action, 'list'],
  ['what is running', 'process', ({ action }) => action, 'list'],
  ['show me its log', 'process', ({ action }) => action, 'list'],
  ['stop it', 'process', ({ action }) => action, 'list'],
]
for (const [sentence, tool, pick, expected] of work)
  test(`"${sentence}" uses ${tool} with arguments it accepts`, async () => {
    const { calls } = await hear([user(sentence)], workspace)
    assert.deepEqual(
      calls.map((call) => call.tool),
      [tool],
    )
    const input = JSON.parse(calls[0]!.json)
    assert.deepEqual(pick(input), expected)
    assert.equal(workspaceRegistry.inputFault(workspaceRegistry.find(tool)!, input), undefined)
  })

/** Plays a turn: each round of calls gets these outputs; returns the calls and the last text. */
async function playOn(
  sentence: string,
  before: MessageBody[],
  outputs: string[][],
): Promise<{ calls: string[]; text: string }> {
  const messages = [...before, user(sentence)]
  for (let round = 0; ; round++) {
    const draft = await hear(messages, workspace)
    if (round === outputs.length)
      return { calls: draft.calls.map(({ tool, json }) => `${tool} ${json}`), text: textOf(draft.content) }
    const calls = draft.calls.map(({ callId, tool, json }) => ({ callId, tool, input: JSON.parse(json) }) as ToolCall)
    assert.equal(calls.length, outputs[round]!.length, `round ${round}`)
    const outcomes = calls.map(({ callId }, index) => ({
      callId,
      status: 'success' as const,
      output: outputs[round]![index]!,
    }))
    messages.push({ role: 'assistant', content: [], calls }, { role: 'tool', outcomes })
  }
}

test('a page is written, served and visited, and the last reply lists the next commands', async () => {
  const written = ['Made a.', 'Made b.', 'Made c.']
  const sentence = 'write a small web page and serve it'
  const started = await playOn(sentence, [], [written])
  assert.deepEqual(started.calls, ['shell {"command":"node page/server.mjs","background":true}'])
  const visited = await playOn(sentence, [], [written, ['[process p1: running for 0.7 s]']])
  assert.deepEqual(visited.calls, ['shell {"command":"node page/visit.mjs"}'])
  const explained = await playOn(sentence, [], [written, ['[process p1: running]'], ['200 <h1>']])
  assert.match(explained.text, /It runs, and it answers.*is it still running.*stop it/s)
})

test('"run it" runs the program written last, and says so when there is none', async () => {
  const call = (path: string): MessageBody[] => {
    const one = { callId: path, tool: 'write_file', input: { path, content: '' } } as unknown as ToolCall
    const outcomes = [{ callId: path, status: 'success' as const, output: 'Made it.' }]
    return [user('x'), { role: 'assistant', content: [], calls: [one] }, { role: 'tool', outcomes }]
  }
  assert.deepEqual((await playOn('run it', call('primes.mjs'), [])).calls, ['shell {"command":"node primes.mjs"}'])
  const page = [...call('primes.mjs'), ...call('page/server.mjs')]
  assert.match((await playOn('run it', page, [])).calls[0]!, /server\.mjs.*"background":true/)
  assert.match((await playOn('run it', [], [])).text, /nothing yet that could be run/)
})

test('"it" means the running process, or the server that ran last', async () => {
  const list =
    'p-1  it exited with 0, after 1 s, 3 bytes of output: ls\np-2  running for 9 s, 2 bytes of output: node page/server.mjs\np-3  it exited with 0, after 1 s, 0 bytes of output: true'
  assert.deepEqual((await playOn('show its log', [], [[list]])).calls, ['process {"action":"log","process_id":"p-2"}'])
  assert.deepEqual((await playOn('stop it', [], [[list]])).calls, ['process {"action":"kill","process_id":"p-2"}'])
  assert.match((await playOn('is it still running', [], [[list]])).text, /still running/)
  const over = list.replace('running for 9 s', 'it was ended, after 9 s')
  assert.match((await playOn('is it still running', [], [[over]])).text, /Nothing is running/)
  assert.match((await playOn('show its log', [], [[over]])).calls[0]!, /p-2/)
  assert.match(
    (await playOn('stop it', [], [['Nothing has run in this conversation yet.']])).text,
    /There is no such process/,
  )
})

test('a woken conversation says which process ended', async () => {
  const news = 'The background process p-9 (sleep 5) ended after 5 s: exit code 0. It printed nothing.'
  assert.equal((await playOn(news, [], [])).text, 'I was woken: p-9 has ended (exit code 0).')
})
