import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import type { Reply } from '../../src/simulator/script.ts'
import type { Simulator } from '../../src/simulator/start-simulator.ts'
import { post, simulatorFixture } from './fixture-simulator.ts'

const clientOf = ({ url }: Simulator) => new GoogleGenAI({ apiKey: 'g-key', httpOptions: { baseUrl: url } })
const HELLO = { model: 'gemini-m', contents: 'Hello' }

const FULL: Reply = {
  text: 'Grüße aus Bergen 🌧️',
  reasoning: { text: 'The user wants the weather.', signature: 'c2ln' },
  calls: [
    { id: 'c1', name: 'forecast', arguments: { city: 'Bergen', days: 3 } },
    { id: 'c2', name: 'clock' },
  ],
  usage: { input: 100, output: 20, cached: 60, reasoning: 7 },
}

const partsOf = (answers: GenerateContentResponse[]) =>
  answers.flatMap((answer) => answer.candidates?.[0]?.content?.parts ?? [])

async function collect(stream: AsyncIterable<GenerateContentResponse>): Promise<GenerateContentResponse[]> {
  const answers: GenerateContentResponse[] = []
  for await (const answer of stream) answers.push(answer)
  return answers
}

test('the Gemini SDK reads a streamed answer: thoughts with their signature, text, parallel calls, usage', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: FULL }] })
  const answers = await collect(await clientOf(simulator).models.generateContentStream(HELLO))
  const parts = partsOf(answers)
  const spoken = (isThought: boolean) =>
    parts
      .flatMap((part) => (part.text !== undefined && (part.thought ?? false) === isThought ? [part.text] : []))
      .join('')
  assert.equal(spoken(true), FULL.reasoning?.text)
  assert.equal(spoken(false), FULL.text)
  const calls = parts.filter((part) => part.functionCall)
  assert.deepEqual(
    calls.map(({ functionCall, thoughtSignature }) => [
      functionCall?.id,
      functionCall?.name,
      functionCall?.args,
      thoughtSignature,
    ]),
    [
      ['c1', 'forecast', { city: 'Bergen', days: 3 }, 'c2ln'],
      ['c2', 'clock', {}, undefined],
    ],
  )
  const last = answers.at(-1)!
  assert.equal(last.candidates?.[0]?.finishReason, 'STOP')
  assert.deepEqual(
    [
      last.usageMetadata?.promptTokenCount,
      last.usageMetadata?.candidatesTokenCount,
      last.usageMetadata?.thoughtsTokenCount,
    ],
    [100, 13, 7],
  )
  assert.equal(last.usageMetadata?.cachedContentTokenCount, 60)
})

test('a non-streamed answer has the same content and the requested model', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: FULL }] })
  const answer = await clientOf(simulator).models.generateContent(HELLO)
  assert.equal(answer.functionCalls?.length, 2)
  assert.ok(partsOf([answer]).some((part) => part.text === FULL.text))
  assert.equal(simulator.requests[0]?.model, 'gemini-m')
  assert.equal(simulator.requests[0]?.key, 'g-key')
})

test('a blocked prompt has feedback and no candidate; a blocked answer has a finish reason', async (context) => {
  const simulator = await simulatorFixture(context, {
    script: [{ times: 1, answer: { refusal: '' } }, { answer: { text: 'I', finish: 'refusal' } }],
  })
  const blocked = await clientOf(simulator).models.generateContent(HELLO)
  assert.equal(blocked.promptFeedback?.blockReason, 'SAFETY')
  assert.equal(blocked.candidates, undefined)
  const stopped = await collect(await clientOf(simulator).models.generateContentStream(HELLO))
  assert.equal(stopped.at(-1)?.candidates?.[0]?.finishReason, 'SAFETY')
})

test('an error has the status of the vendor', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: { error: 'rate-limit' } }] })
  await assert.rejects(clientOf(simulator).models.generateContent(HELLO), (fault) => {
    assert.ok(fault instanceof ApiError)
    assert.equal(fault.status, 429)
    assert.match(fault.message, /RESOURCE_EXHAUSTED/)
    return true
  })
})

test('a request without alt=sse gets a JSON array', async (context) => {
  const simulator = await simulatorFixture(context, { script: [{ answer: { text: 'Hello there, and welcome.' } }] })
  const response = await post(`${simulator.url}/v1beta/models/m:streamGenerateContent`, { contents: [] })
  const answers = (await response.json()) as GenerateContentResponse[]
  assert.equal(
    partsOf(answers)
      .map((part) => part.text)
      .join(''),
    'Hello there, and welcome.',
  )
})
