import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPart, type Draft, newDraft, type Part } from '../../core/answer.ts'
import type { Failure } from '../../core/failure.ts'
import { type MessageBody, textOf } from '../../core/message.ts'
import type { ModelProvider, ModelRequest } from '../../ports/model.ts'
import { modelsFrom } from '../models.ts'
import { chunksOf } from './reply.ts'
import { newScriptedProvider, type Script, scriptOf } from './script.ts'

const clock = { sleep: async () => {} }
const never = new AbortController().signal
const overloaded: Failure = { kind: 'overloaded', detail: 'try later' }

const user = (text: string): MessageBody => ({ role: 'user', content: [{ type: 'text', text }] })
const answer: MessageBody = { role: 'assistant', content: [{ type: 'text', text: 'one' }], calls: [] }
const results: MessageBody = { role: 'tool', outcomes: [] }
const request = (...messages: MessageBody[]): ModelRequest => ({ model: 'test', system: '', messages, tools: [] })

const providerOf = (script: Script): ModelProvider => newScriptedProvider({ clock, scriptFor: () => script })

async function partsFrom(provider: ModelProvider, modelRequest: ModelRequest, signal = never): Promise<Part[]> {
  const parts: Part[] = []
  for await (const part of provider.stream(modelRequest, { signal })) parts.push(part)
  return parts
}

async function draftFrom(provider: ModelProvider, modelRequest: ModelRequest): Promise<Draft> {
  const draft = newDraft()
  for (const part of await partsFrom(provider, modelRequest)) addPart(draft, part)
  return draft
}

/** The text of an answer, or the kind of its failure. */
async function gist(provider: ModelProvider, modelRequest: ModelRequest): Promise<string> {
  const { content, failure } = await draftFrom(provider, modelRequest)
  return failure?.kind ?? textOf(content)
}

test('an answer has its reasoning, text, calls, usage and finish', async () => {
  const usage = { promptTokens: 3, completionTokens: 4 }
  const calls = [
    { tool: 'look', input: { at: 'the sea' }, callId: 'call-a' },
    { tool: 'look', input: {} },
  ]
  const script = scriptOf({ reasoning: 'thinking', signature: 'signed', text: 'Looking.', calls, usage })
  assert.deepEqual(await draftFrom(providerOf(script), request(user('hi'))), {
    content: [
      { type: 'reasoning', text: 'thinking', signature: 'signed' },
      { type: 'text', text: 'Looking.' },
    ],
    calls: [
      { callId: 'call-a', tool: 'look', json: '{"at":"the sea"}' },
      { callId: 'call-1-1', tool: 'look', json: '{}' },
    ],
    usage,
    finish: 'tool-calls',
  })
})

test('text is split into the same chunks every time, and no character is split', () => {
  const text = 'ab\u{1F40B}cd\u{1F9CD}\u{1F9CD}e'
  for (const size of [1, 2, 3, 5, 100]) {
    const chunks = chunksOf(text, size)
    assert.equal(chunks.join(''), text)
    assert.ok(chunks.every((chunk) => chunk.isWellFormed()))
    assert.deepEqual(chunksOf(text, size), chunks)
  }
  assert.deepEqual(chunksOf('abcde', 2), ['ab', 'cd', 'e'])
})

test('a call whose arguments are not JSON is passed on unchanged', async () => {
  const script = scriptOf({ calls: [{ tool: 'look', rawJson: '{"at": ' }] })
  const { calls, finish } = await draftFrom(providerOf(script), request(user('hi')))
  assert.equal(calls[0]?.json, '{"at": ')
  assert.equal(finish, 'tool-calls')
})

test('raw parts are passed on unchanged', async () => {
  const raw: Part[] = [
    { type: 'call-delta', index: 0, json: '{}' },
    { type: 'finish', finish: 'tool-calls' },
  ]
  assert.deepEqual(await partsFrom(providerOf(scriptOf({ raw })), request(user('hi'))), raw)
})

test('another process continues the turn at the position that the request implies', async () => {
  const script = scriptOf({ calls: [{ tool: 'look', input: {} }] }, { fail: overloaded }, { text: 'two' })
  const turn = [user('old'), answer, user('hi'), answer, results]
  assert.equal((await draftFrom(providerOf(script), request(user('old'), answer, user('hi')))).calls.length, 1)
  const restarted = providerOf(script)
  assert.equal(await gist(restarted, request(...turn)), 'overloaded')
  assert.equal(await gist(restarted, request(...turn)), 'two')
})

test('a failure is played once, then the answer after it, also if every call builds a new script', async () => {
  const provider = newScriptedProvider({
    clock,
    scriptFor: () => scriptOf({ fail: overloaded }, { fail: { kind: 'timeout', detail: '' } }, { text: 'done' }),
  })
  const gists = []
  for (let call = 0; call < 4; call++) gists.push(await gist(provider, request(user('hi'))))
  assert.deepEqual(gists, ['overloaded', 'timeout', 'done', 'done'])
})

test('one conversation does not use up the failures of another', async () => {
  const provider = providerOf(scriptOf({ text: 'one' }, { fail: overloaded }, { text: 'two' }))
  assert.equal(await gist(provider, request(user('a'), answer)), 'overloaded')
  assert.equal(await gist(provider, request(user('b'))), 'one')
  assert.equal(await gist(provider, request(user('b'), answer)), 'overloaded')
  assert.equal(await gist(provider, request(user('a'), answer)), 'two')
})

test('a script that ends in a failure keeps failing', async () => {
  const provider = providerOf(scriptOf({ fail: overloaded }))
  for (let call = 0; call < 3; call++) assert.equal(await gist(provider, request(user('hi'))), 'overloaded')
})

test('an exhausted script fails with a message that says so', async () => {
  const provider = providerOf(scriptOf({ text: 'one' }))
  const { failure } = await draftFrom(provider, request(user('hi'), answer))
  assert.equal(failure?.kind, 'invalid-request')
  assert.match(failure!.detail, /script has 1 replies and none for the call after answer 1/)
})

test('a failure may come in the middle of an answer', async () => {
  const script = scriptOf({ fail: overloaded, after: 2, text: 'abcdef', pace: { chunkSize: 2, delayMs: 0 } })
  const { content, failure } = await draftFrom(providerOf(script), request(user('hi')))
  assert.equal(textOf(content), 'abcd')
  assert.equal(failure, overloaded)
})

test('a cut answer ends without a finish, and the next call gets the next reply', async () => {
  const provider = providerOf(scriptOf({ cutAfter: 1 }, { text: 'whole' }))
  const draft = await draftFrom(provider, request(user('hi')))
  assert.equal(draft.content.length, 1)
  assert.deepEqual([draft.finish, draft.failure], [undefined, undefined])
  assert.equal(await gist(provider, request(user('hi'))), 'whole')
})

test('a stalled reply sends nothing until it is aborted, and then ends', async () => {
  const provider = providerOf(scriptOf({ stall: true }, { text: 'awake' }))
  const controller = new AbortController()
  let ended = false
  const parts = partsFrom(provider, request(user('hi')), controller.signal).finally(() => {
    ended = true
  })
  await new Promise(setImmediate)
  assert.equal(ended, false)
  controller.abort()
  assert.deepEqual(await parts, [])
  assert.equal(await gist(provider, request(user('hi'))), 'awake')
})

test('an abort during a delay ends the stream without another part', async () => {
  const controller = new AbortController()
  const sleeper = {
    sleep: async (_: number, signal?: AbortSignal) => {
      assert.equal(signal, controller.signal)
      controller.abort()
    },
  }
  const script = scriptOf({ text: 'abcdef', pace: { chunkSize: 2, delayMs: 10 } })
  const provider = newScriptedProvider({ clock: sleeper, scriptFor: () => script })
  const parts = await partsFrom(provider, request(user('hi')), controller.signal)
  assert.deepEqual(parts, [{ type: 'text-delta', text: 'ab' }])
})

test('a request that is already aborted gets no parts', async () => {
  const provider = providerOf(scriptOf({ text: 'hello' }))
  assert.deepEqual(await partsFrom(provider, request(user('hi')), AbortSignal.abort()), [])
})

test('a paced answer waits between chunks and not before the first', async () => {
  const waits: number[] = []
  const counting = { sleep: async (ms: number) => void waits.push(ms) }
  const script = scriptOf({ text: 'abcdef', pace: { chunkSize: 2, delayMs: 10 } })
  await partsFrom(newScriptedProvider({ clock: counting, scriptFor: () => script }), request(user('hi')))
  assert.deepEqual(waits, [10, 10])
})

test('providers are found by name, and inherited property names are not providers', () => {
  const provider = providerOf([])
  const models = modelsFrom({ scripted: provider })
  assert.equal(models.find('scripted'), provider)
  assert.equal(models.find('constructor'), undefined)
})
