import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defined } from '../src/core/defined.ts'

/** A model that answers in 50 chunks in each dialect: a separate process, so that its cost is not measured. */
const WORDS = Array.from({ length: 50 }, (_, index) => ` word${index}`)

type Event = { event?: string; data: string }
const named = (type: string, more: object): Event => ({ event: type, data: JSON.stringify({ type, ...more }) })
const plain = (body: object): Event => ({ data: JSON.stringify(body) })

const chunk = (delta: object, finish: string | null = null) =>
  plain({
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'bench',
    system_fingerprint: 'fp',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  })

const chat: Event[] = [
  ...WORDS.map((content) => chunk({ content })),
  chunk({}, 'stop'),
  plain({ choices: [], usage: { prompt_tokens: 200, completion_tokens: 50 } }),
  { data: '[DONE]' },
]

const deltaPosition = { item_id: 'msg_bench', output_index: 0, content_index: 0 }
const responses: Event[] = [
  named('response.created', { response: { id: 'resp_bench', status: 'in_progress' }, sequence_number: 0 }),
  ...WORDS.map((delta, index) =>
    named('response.output_text.delta', { ...deltaPosition, delta, logprobs: [], sequence_number: index + 1 }),
  ),
  named('response.completed', {
    response: { id: 'resp_bench', status: 'completed', usage: { input_tokens: 200, output_tokens: 50 } },
  }),
]

const anthropic: Event[] = [
  named('message_start', { message: { id: 'msg_bench', content: [], usage: { input_tokens: 200, output_tokens: 1 } } }),
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ...WORDS.map((text) => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
  named('content_block_stop', { index: 0 }),
  named('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 50 } }),
  named('message_stop', {}),
]

const candidate = (text: string, finishReason?: string) =>
  plain({
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [{ text }] },
        ...defined({ finishReason: finishReason || undefined }),
      },
    ],
    usageMetadata: { promptTokenCount: 200, candidatesTokenCount: 50, totalTokenCount: 250 },
    modelVersion: 'bench',
  })
const gemini: Event[] = [...WORDS.map((text) => candidate(text)), candidate('.', 'STOP')]

const ANSWERS: [RegExp, string[]][] = [
  [/\/chat\/completions$/, chat.map(toText)],
  [/\/responses$/, responses.map(toText)],
  [/\/messages$/, anthropic.map(toText)],
  [/:streamGenerateContent/, gemini.map(toText)],
]

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    stream(response, ANSWERS.find(([path]) => path.test(request.url!))![1])
  })
})
server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})

function stream(response: ServerResponse, events: readonly string[], next = 0): void {
  if (response.destroyed) return
  if (next === events.length) return void response.end()
  response.write(events[next]!)
  setImmediate(stream, response, events, next + 1)
}

function toText({ event, data }: Event): string {
  return `${event ? `event: ${event}\n` : ''}data: ${data}\n\n`
}
