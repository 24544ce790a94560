import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CHUNKS_PER_ANSWER, TOOL_STEPS, WEATHER, type WireCall, type WireChunk, type WireMessage } from './wire.ts'

/** The model: a separate process, so that its cost is not measured. Prints its address and serves. */
const CITIES = ['Lisbon', 'Porto', 'Faro']
const ANSWERS = Array.from({ length: TOOL_STEPS + 1 }, (_, step) => answerChunks(step).map(toEvent))

const server = createServer((request, response) => {
  const received: Buffer[] = []
  request.on('data', (bytes: Buffer) => received.push(bytes))
  request.on('end', () => {
    const { messages } = JSON.parse(Buffer.concat(received).toString()) as { messages: WireMessage[] }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    stream(response, ANSWERS[Math.min(resultsSinceInput(messages), TOOL_STEPS)]!)
  })
})
server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions\n`)
})

/** Milliseconds between two tokens. Default: one per tick, as from a model that is faster than its readers. */
const PACE_MS = Number(process.env.BENCH_PACE_MS ?? 0)

function stream(response: ServerResponse, events: readonly string[], next = 0): void {
  if (response.destroyed) return
  if (next === events.length) return void response.end('data: [DONE]\n\n')
  response.write(events[next]!)
  if (PACE_MS > 0) setTimeout(stream, PACE_MS, response, events, next + 1)
  else setImmediate(stream, response, events, next + 1)
}

/** The request alone determines the answer, so one source serves any number of conversations. */
function resultsSinceInput(messages: readonly WireMessage[]): number {
  const input = messages.findLastIndex((message) => message.role === 'user')
  return messages.slice(input).filter((message) => message.role === 'tool').length
}

function answerChunks(step: number): WireChunk[] {
  const isLast = step === TOOL_STEPS
  const deltas = CHUNKS_PER_ANSWER - (isLast ? 1 : 2)
  const texts = Array.from({ length: deltas }, (_, index) => chunk({ content: ` word${index}` }))
  const end = { ...chunk({}, isLast ? 'stop' : 'tool_calls'), usage: { prompt_tokens: 200, completion_tokens: 25 } }
  if (isLast) return [...texts, end]
  const city = CITIES[step % CITIES.length]!
  const call: WireCall = {
    id: `call_${step}`,
    type: 'function',
    function: { name: WEATHER.name, arguments: JSON.stringify({ city }) },
  }
  return [...texts, chunk({ tool_calls: [{ index: 0, ...call }] }), end]
}

function chunk(delta: WireChunk['choices'][number]['delta'], finish: string | null = null): WireChunk {
  return { choices: [{ delta, finish_reason: finish }] }
}

function toEvent(body: WireChunk): string {
  const envelope = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 0, model: 'bench' }
  return `data: ${JSON.stringify({ ...envelope, ...body })}\n\n`
}
