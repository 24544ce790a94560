import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer, Break, Pace } from '../../src/simulator/script.ts'
import { askChat, simulatorFixture } from './fixture-simulator.ts'
import { askRaw } from './raw-connection.ts'

const HELLO = { model: 'm', stream: true, messages: [{ role: 'user', content: 'Hello' }] }
const STORY = 'Once upon a time there was a lighthouse keeper with a very long story to tell.'

const storyThat = (breaks: Break | Break[], pace: Pace = {}): { script: [{ answer: Answer }] } => ({
  script: [{ answer: { text: STORY, breaks, pace } }],
})

for (const atByte of [0, 1, 137, 700])
  test(`a reset at byte ${atByte} comes after exactly that many bytes of the body`, async (context) => {
    const simulator = await simulatorFixture(context, storyThat({ how: 'reset', atByte }))
    const { end, body, headers, isWhole } = await askRaw(simulator, HELLO)
    assert.match(headers, /^http\/1.1 200/)
    assert.deepEqual({ end, bytes: body.length, isWhole }, { end: 'reset', bytes: atByte, isWhole: false })
    assert.equal((await simulator.waitForClosed(1)).ended?.how, 'closed-by-simulator')
  })

test('a cut closes the connection in the middle of the transfer, without a reset', async (context) => {
  const simulator = await simulatorFixture(context, storyThat({ how: 'cut', atByte: 50 }))
  const { end, body, isWhole } = await askRaw(simulator, HELLO)
  assert.deepEqual({ end, bytes: body.length, isWhole }, { end: 'closed', bytes: 50, isWhole: false })
})

test('an early end is a complete body without a finish reason', async (context) => {
  const simulator = await simulatorFixture(context, storyThat({ how: 'end', atByte: 400 }))
  const { body, isWhole } = await askRaw(simulator, HELLO)
  assert.deepEqual({ bytes: body.length, isWhole }, { bytes: 400, isWhole: true })
  assert.equal((await simulator.waitForClosed(1)).ended?.how, 'answered')
})

test('an answer without a finish has all of its text and nothing after it', async (context) => {
  const simulator = await simulatorFixture(context, storyThat({ how: 'no-finish' }))
  const text = await (await askChat(simulator)).text()
  assert.equal(textIn(text), STORY)
  assert.doesNotMatch(text, /"finish_reason":"|\[DONE\]/)
})

test('a non-streamed answer can be broken off, too', async (context) => {
  const simulator = await simulatorFixture(context, storyThat({ how: 'reset', atByte: 20 }))
  const { end, body } = await askRaw(simulator, { ...HELLO, stream: false })
  assert.deepEqual({ end, bytes: body.length }, { end: 'reset', bytes: 20 })
})

test('a stall sends its chunks and then nothing until the client disconnects, which is recorded', async (context) => {
  const simulator = await simulatorFixture(context, storyThat({ how: 'stall', afterChunks: 3 }))
  const abort = new AbortController()
  const response = await askChat(simulator, { signal: abort.signal })
  const reader = response.body!.getReader()
  let received = ''
  while (received.split('\n\n').length <= 3) received += new TextDecoder().decode((await reader.read()).value)
  assert.equal(simulator.requests[0]?.ended, undefined)
  abort.abort()
  const { ended, arrivedAt } = await simulator.waitForClosed(1)
  assert.equal(ended?.how, 'closed-by-client')
  assert.ok(ended.at >= arrivedAt)
  assert.equal(received.split('\n\n').length, 4)
})

test('a silent connection sends no headers', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: { line: 'silent' } }] })
  const abort = new AbortController()
  const asking = askChat(simulator, { signal: abort.signal })
  await simulator.waitForRequests(1)
  abort.abort()
  await assert.rejects(asking, { name: 'AbortError' })
  const { ended, status } = await simulator.waitForClosed(1)
  assert.deepEqual([ended?.how, status], ['closed-by-client', undefined])
})

test('a connection can be reset or cut before the first byte', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [{ times: 1, answer: { line: 'reset' } }, { answer: { line: 'cut' } }],
  })
  const [reset, cut] = [await askRaw(simulator, HELLO), await askRaw(simulator, HELLO)]
  assert.deepEqual([reset.end, reset.headers, cut.end, cut.headers], ['reset', '', 'closed', ''])
})

test('endless pings keep the connection open without an answer', async (context) => {
  const simulator = await simulatorFixture(context, storyThat({ how: 'pings', everyMs: 1 }))
  const abort = new AbortController()
  const response = await askChat(simulator, { signal: abort.signal })
  const reader = response.body!.getReader()
  let received = ''
  while (received.split('\n\n').length < 5) received += new TextDecoder().decode((await reader.read()).value)
  assert.match(received, /^(: [A-Z ]+\n\n)+/)
  assert.doesNotMatch(received, /data:/)
  abort.abort()
  assert.equal((await simulator.waitForClosed(1)).ended?.how, 'closed-by-client')
})

test('a refused connection is refused until the port is open again, at the same address', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [{ times: 1, answer: { line: 'refuse', forMs: 1_000 } }],
  })
  await assert.rejects(askChat(simulator))
  await assert.rejects(askChat(simulator), (fault: Error) => (fault.cause as { code?: string }).code === 'ECONNREFUSED')
  const answered = await retried(() => askChat(simulator))
  assert.equal(answered.status, 200)
})

test('the simulator goes down and comes back on request', async (context) => {
  const simulator = await simulatorFixture(context)
  await simulator.goDown()
  await assert.rejects(askChat(simulator))
  await simulator.comeBack()
  assert.equal((await askChat(simulator)).status, 200)
})

test('going down ends open responses, recorded as closed by the simulator', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: { line: 'silent' } }] })
  const asking = askChat(simulator)
  await simulator.waitForRequests(1)
  await Promise.all([assert.rejects(asking), simulator.goDown()])
  assert.equal((await simulator.waitForClosed(1)).ended?.how, 'closed-by-simulator')
})

test('a malformed chunk is half a chunk', async (context) => {
  const simulator = await simulatorFixture(context, storyThat({ how: 'malformed', chunk: 2 }))
  const chunks = dataOf(await (await askChat(simulator)).text())
  assert.throws(() => JSON.parse(chunks[1]!))
  assert.doesNotThrow(() => JSON.parse(chunks[2]!))
})

test('a duplicated chunk comes twice, a joined one holds two objects', async (context) => {
  const simulator = await simulatorFixture(
    context,
    storyThat([
      { how: 'duplicate', chunk: 2 },
      { how: 'joined', chunk: 4 },
    ]),
  )
  const chunks = dataOf(await (await askChat(simulator)).text())
  assert.equal(chunks[1], chunks[2])
  assert.match(chunks[3]!, /\}\{"id"/)
})

test('bytes are split inside characters without loss', async (context) => {
  const text = 'Grüße 🌧️ aus Bergen'
  const simulator = await simulatorFixture(context, {
    script: [{ answer: { text, pace: { bytesPerWrite: 3, charactersPerChunk: 5 } } }],
  })
  assert.equal(textIn(await (await askChat(simulator)).text()), text)
})

test('headers, first chunk and each chunk wait for the scripted time', async (context) => {
  const pace = { beforeHeadersMs: 60, beforeFirstChunkMs: 60, everyMs: 30, charactersPerChunk: 40 }
  const simulator = await simulatorFixture(context, storyThat([], pace))
  const started = performance.now()
  const response = await askChat(simulator)
  const headersAfter = performance.now() - started
  await response.text()
  const took = performance.now() - started
  assert.ok(headersAfter >= 55, `headers after ${headersAfter}`)
  // Two deltas between opening, finish and [DONE]: four pauses.
  assert.ok(took >= 55 + 55 + 4 * 28, `all after ${took}`)
})

test('call ids are sent once, repeated, changed or shared', async (context) => {
  const calls = [{ name: 'a', arguments: { long: 'arguments that need more than one chunk' } }, { name: 'b' }]
  const idsWith = async (callIds: 'once' | 'repeated' | 'changed' | 'shared') => {
    const simulator = await simulatorFixture(context, { script: [{ answer: { calls, callIds } }] })
    const chunks = dataOf(await (await askChat(simulator)).text())
      .slice(0, -1)
      .map((data) => JSON.parse(data))
    const deltas = chunks.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []) as {
      index: number
      id?: string
    }[]
    const ids = (index: number) =>
      new Set(deltas.flatMap((delta) => (delta.index === index && delta.id ? [delta.id] : [])))
    return { output: deltas.filter(({ id }) => id).length, first: ids(0), second: ids(1), all: deltas.length }
  }
  const once = await idsWith('once')
  assert.deepEqual([once.output, once.first.size], [2, 1])
  const repeated = await idsWith('repeated')
  assert.deepEqual([repeated.output, repeated.first.size], [repeated.all, 1])
  assert.ok((await idsWith('changed')).first.size > 1)
  const shared = await idsWith('shared')
  assert.deepEqual(shared.first, shared.second)
})

const dataOf = (stream: string): string[] =>
  stream.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice(6)] : []))

const textIn = (stream: string): string =>
  dataOf(stream)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data).choices[0]?.delta.content ?? '')
    .join('')

/** Retries until the connection succeeds. */
async function retried(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    try {
      return await ask()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
