import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** The model behind the server, in a separate process. Each model name is a way to answer. Prints its address. */
const PACED_CHUNKS = 100
const PACE_MS = 4
const TOOL_STEPS = 4
const CHUNKS_PER_ANSWER = 25
/** Keeps a silent answer alive. */
const COMMENT_EVERY_MS = 2_000

type Request = { model: string; messages: { role: string }[] }

const server = createServer(async (request, response) => {
  const received: Buffer[] = []
  for await (const bytes of request) received.push(bytes as Buffer)
  const body = JSON.parse(Buffer.concat(received).toString()) as Request
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  await ANSWERS[body.model]!(response, body)
})
server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1\n`)
})

const ANSWERS: Record<string, (response: ServerResponse, body: Request) => Promise<void>> = { paced, tools, silent }

/** Every chunk contains its time of writing, on the clock that all processes of a machine share. */
async function paced(response: ServerResponse): Promise<void> {
  for (let index = 0; index < PACED_CHUNKS && !response.destroyed; index++) {
    await sleep(PACE_MS)
    response.write(event({ content: ` @${process.hrtime.bigint()}` }))
  }
  end(response, 'stop')
}

async function tools(response: ServerResponse, { messages }: Request): Promise<void> {
  const input = messages.findLastIndex((message) => message.role === 'user')
  const step = messages.slice(input).filter((message) => message.role === 'tool').length
  for (let index = 0; index < CHUNKS_PER_ANSWER; index++) response.write(event({ content: ` word${index}` }))
  if (step === TOOL_STEPS) return end(response, 'stop')
  const call = { index: 0, id: `call_${step}`, type: 'function', function: { name: 'current_time', arguments: '{}' } }
  response.write(event({ tool_calls: [call] }))
  end(response, 'tool_calls')
}

async function silent(response: ServerResponse): Promise<void> {
  while (!response.destroyed) {
    response.write(': waiting\n\n')
    await sleep(COMMENT_EVERY_MS)
  }
}

function end(response: ServerResponse, finish: string): void {
  response.write(event({}, finish))
  response.end('data: [DONE]\n\n')
}

function event(delta: object, finish: string | null = null): string {
  const usage = finish === null ? {} : { usage: { prompt_tokens: 200, completion_tokens: 25, total_tokens: 225 } }
  const envelope = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 0, model: 'bench' }
  return `data: ${JSON.stringify({ ...envelope, choices: [{ index: 0, delta, finish_reason: finish }], ...usage })}\n\n`
}
