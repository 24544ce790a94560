import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createParser } from 'eventsource-parser'
import { Agent, request } from 'undici'
import type { MessageBody } from '../src/core/message.ts'
import type { ModelProvider, ModelRequest } from '../src/ports/model.ts'
import { anthropicMessages } from '../src/providers/anthropic/messages.ts'
import { geminiGenerateContent } from '../src/providers/gemini/generate-content.ts'
import { openaiChat } from '../src/providers/openai/chat.ts'
import { chatMessages } from '../src/providers/openai/chat-messages.ts'
import { openaiResponses } from '../src/providers/openai/responses.ts'
import type { Deadlines } from '../src/providers/wire/deadlines.ts'
import type { WireDialect } from '../src/providers/wire/dialect.ts'
import { newWireProvider } from '../src/providers/wire/wire-provider.ts'
import { median, round } from './figures.ts'

/** The wire clients against undici and the parser alone; abort, stall and warm requests. Prints one line of JSON. */
async function main(): Promise<void> {
  const source = spawn(process.execPath, [fileURLToPath(new URL('client-source.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const base = await firstLine(source.stdout)
    const ratios: Record<string, number> = {}
    for (const dialect of DIALECTS) ratios[dialect.name] = round(await cpuRatio(dialect, base))
    const abort = await abortP99()
    const stall = await stallError()
    console.log(
      JSON.stringify({
        client_cpu_ratio: ratios,
        abort_p99_ms: round(abort),
        stall_error: round(stall),
        warm_request_ratio: round(warmRequestRatio()),
      }),
    )
  } finally {
    source.kill()
  }
}

const DIALECTS: readonly WireDialect[] = [openaiChat, openaiResponses, anthropicMessages, geminiGenerateContent]
const ROUNDS = 15
const CALLS_PER_ROUND = 60

const ASK: ModelRequest = {
  model: 'bench',
  system: 'You are a helpful assistant.',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Say fifty words.' }] }],
  tools: [],
}
const NEVER = new AbortController().signal

/** CPU of one call, user and system. Compares adjacent measurements, because the speed of the machine varies. */
async function cpuRatio(dialect: WireDialect, base: string): Promise<number> {
  const provider = providerAt(base, dialect)
  const encoded = dialect.encode(ASK, { quirks: {} })
  const agent = new Agent()
  const ours = () => readParts(provider)
  const bare = () => readBare(agent, base + encoded.path, encoded.body)
  await cpuOf(ours)
  await cpuOf(bare)
  const ratios: number[] = []
  for (let index = 0; index < ROUNDS; index++) {
    const isOdd = index % 2 === 1
    const first = await cpuOf(isOdd ? ours : bare)
    const second = await cpuOf(isOdd ? bare : ours)
    ratios.push(isOdd ? first / second : second / first)
  }
  await agent.close()
  await provider.renewConnections?.()
  return median(ratios)
}

async function cpuOf(call: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  for (let index = 0; index < CALLS_PER_ROUND; index++) await call()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

async function readParts(provider: ModelProvider): Promise<void> {
  let texts = 0
  let isFinished = false
  for await (const part of provider.stream(ASK, { signal: NEVER })) {
    if (part.type === 'text-delta') texts++
    if (part.type === 'finish') isFinished = true
  }
  if (texts < 50 || !isFinished) throw new Error(`the client read ${texts} texts, finished: ${isFinished}`)
}

async function readBare(dispatcher: Agent, url: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  const response = await request(url, { method: 'POST', headers, body, dispatcher })
  let events = 0
  const parser = createParser({ onEvent: () => void events++ })
  const decoder = new TextDecoder()
  for await (const bytes of response.body) parser.feed(decoder.decode(bytes as Buffer, { stream: true }))
  if (events < 50) throw new Error(`the bare side read ${events} events`)
}

const ABORTS = 300

/** Time from the abort to the close that the server sees, sequentially. */
async function abortP99(): Promise<number> {
  const took: number[] = []
  const server = await silentServer()
  const provider = providerAt(server.url, openaiChat)
  for (let index = 0; index < ABORTS; index++) {
    const abort = new AbortController()
    const connected = once(server.events, 'connection')
    const reading = drain(provider, abort.signal)
    const socket = ((await connected) as [Socket])[0]
    await once(socket, 'data')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => setImmediate(resolve))
    const from = performance.now()
    abort.abort()
    await closed
    took.push(performance.now() - from)
    await reading
  }
  server.close()
  return took.sort((one, other) => one - other)[Math.ceil(took.length * 0.99) - 1]!
}

const STALLS = 40
const STALL_MS = 500

/** The largest error of the stall timeout over many streams, relative to the timeout. */
async function stallError(): Promise<number> {
  const server = await silentServer()
  const provider = providerAt(server.url, openaiChat, { stallMs: STALL_MS })
  const errors = await Promise.all(
    Array.from({ length: STALLS }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 20))
      let lastAt = 0
      for await (const part of provider.stream(ASK, { signal: NEVER })) {
        if (part.type === 'text-delta') lastAt = performance.now()
        else if (part.type !== 'failure' || part.failure.kind !== 'stalled') throw new Error(JSON.stringify(part))
      }
      return Math.abs(performance.now() - lastAt - STALL_MS) / STALL_MS
    }),
  )
  server.close()
  return Math.max(...errors)
}

const HISTORY = 5_000
const WARM_ROUNDS = 41
const WARM_REQUESTS = 10

/** Encoding a request with a long history of cached messages, against joining their texts. */
function warmRequestRatio(): number {
  const messages = Array.from({ length: HISTORY }, (_, index): MessageBody => {
    const text = `Message ${index}: ${'what was said in the course of a long conversation. '.repeat(4)}`
    const content = [{ type: 'text' as const, text }]
    return index % 2 === 0 ? { role: 'user', content } : { role: 'assistant', content, calls: [] }
  })
  const ask = { ...ASK, messages }
  const form = { images: 'all', signatures: 'kept', caching: 'automatic', quirks: {} } as const
  const texts = messages.map((body) => chatMessages.one(body, form))
  // As bytes on both sides: V8 defers a concatenation until the flat string is needed.
  const warm = () => Buffer.from(openaiChat.encode(ask, { quirks: {} }).body).length
  const joined = () => Buffer.from(`[${texts.join(',')}]`).length
  const ratios: number[] = []
  for (let index = 0; index < WARM_ROUNDS; index++) {
    const bare = timeOf(joined)
    ratios.push(timeOf(warm) / bare)
  }
  return median(ratios)
}

function timeOf(work: () => number): number {
  const from = performance.now()
  for (let index = 0; index < WARM_REQUESTS; index++) if (work() < HISTORY) throw new Error('nothing was written')
  return performance.now() - from
}

function providerAt(baseUrl: string, dialect: WireDialect, deadlines: Deadlines = {}): ModelProvider {
  return newWireProvider({
    provider: 'bench',
    dialect,
    baseUrl,
    deadlines,
    classify: ({ body }) => ({ kind: 'server-error', detail: body }),
    classifyTransport: (error) => ({ kind: 'unreachable', detail: String(error) }),
  })
}

async function drain(provider: ModelProvider, signal: AbortSignal): Promise<void> {
  for await (const part of provider.stream(ASK, { signal }))
    if (part.type === 'failure') throw new Error(part.failure.detail)
}

/** Sends the first chunk of every answer and then nothing. */
async function silentServer() {
  const sockets = new Set<Socket>()
  const chunk = `data: ${JSON.stringify({ choices: [{ delta: { content: 'so' } }] })}\n\n`
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${chunk}`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    events: server,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function firstLine(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) return line
  throw new Error('the source did not start')
}

await main()
