import type { IncomingMessage, ServerResponse } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import { defined } from '../../core/defined.ts'
import type { CallFault } from '../call-fault.ts'
import { answerPage, fileLine } from '../chat-page.ts'
import { listen } from '../listening.ts'
import { failure, METHODS, type MethodAnswer, STREAM_MS } from './methods.ts'
import { newRates, type SimulatedRates } from './rates.ts'
import { ADA, newWorld, type Pending, type World } from './world.ts'

export type SlackOptions = {
  /** 0 picks a free port. */
  port?: number
  /** Known tokens. Without any, every well-formed pair is an app. */
  tokens?: { bot: string; app: string }
  rates?: SimulatedRates
  /** What happens to a call; asked before each. */
  fault?(call: { method: string; payload: Record<string, unknown> }): CallFault | undefined
  /** How long a connection may take to acknowledge, before Slack tries again. */
  acknowledgeMs?: number
}

/** A simulated Slack: the Web API over HTTP, Socket Mode with its envelopes, retries and refreshes, buttons, streams, files and faults. */
export type SlackServer = World & {
  /** The `api_root` of an account. */
  readonly url: string
  readonly port: number
  /** Connections that are open. */
  connections(): number
  /** Envelopes that were not acknowledged. */
  unacknowledged(): number
  setFault(fault: SlackOptions['fault']): void
  /** Tells every connection that it ends, as Slack does about every hour. */
  refresh(): void
  /** Ends every connection without a word. */
  cutConnections(): void
  /** A frame as it is, to every connection. */
  frame(text: string): void
  close(): Promise<void>
}

type Connection = { socket: WebSocket; unacknowledged: Map<string, { event: Pending; timer: NodeJS.Timeout }> }

export async function startSlack(options: SlackOptions = {}): Promise<SlackServer> {
  const world = newWorld()
  const connections: Connection[] = []
  const queue: Pending[] = []
  const sockets = new WebSocketServer({ noServer: true })
  const { acknowledgeMs = 3_000 } = options
  let { fault } = options
  const rateOf = options.rates && newRates(options.rates, world.now)
  let nextEnvelope = 1
  let nextConnection = 0
  let isClosed = false

  const listening = await listen(
    options.port ?? 0,
    (request, response) => {
      serve(request, response).catch(() => response.destroy())
    },
    (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (opened) => connected(opened))
    },
  )
  const url = `http://127.0.0.1:${listening.port}`
  const stopDelivering = world.onDelivery(deliver)
  world.setUploadRoot(`${url}/api/upload`)

  function connected(socket: WebSocket): void {
    const connection: Connection = { socket, unacknowledged: new Map() }
    connections.push(connection)
    socket.on('message', (data) => {
      const { envelope_id: id } = JSON.parse(String(data)) as { envelope_id?: string }
      const sent = connection.unacknowledged.get(String(id))
      if (!sent) return
      clearTimeout(sent.timer)
      connection.unacknowledged.delete(String(id))
      world.changed()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      connections.splice(connections.indexOf(connection), 1)
      for (const { event, timer } of connection.unacknowledged.values()) {
        clearTimeout(timer)
        again(event)
      }
      world.changed()
    })
    const ping = setInterval(() => socket.ping(), 5_000).unref()
    socket.on('close', () => clearInterval(ping))
    socket.send(
      JSON.stringify({ type: 'hello', num_connections: connections.length, connection_info: { app_id: 'A1' } }),
    )
    for (const event of queue.splice(0)) deliver(event)
    world.changed()
  }

  /** Any connection may get an event. Without one it is lost, unless it was delivered before. */
  function deliver(event: Pending): void {
    const open = connections.filter(({ socket }) => socket.readyState === socket.OPEN)
    const connection = open[nextConnection++ % Math.max(1, open.length)]
    if (!connection) {
      if (event.isDelivered) queue.push(event)
      return
    }
    event.isDelivered = true
    const id = `envelope-${nextEnvelope++}`
    const timer = setTimeout(() => {
      connection.unacknowledged.delete(id)
      again(event)
    }, acknowledgeMs).unref()
    connection.unacknowledged.set(id, { event, timer })
    const retry = event.attempt > 0 ? { retry_attempt: event.attempt, retry_reason: 'timeout' } : {}
    const { type, payload } = event
    connection.socket.send(
      JSON.stringify({ envelope_id: id, type, payload, accepts_response_payload: type !== 'events_api', ...retry }),
    )
  }

  function again(event: Pending): void {
    if (!isClosed) deliver({ ...event, attempt: event.attempt + 1 })
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://local').pathname
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const file = /^\/api\/files\/(.+)$/.exec(path)?.[1]
    if (file !== undefined) {
      const bytes = isBot(token) ? world.files.get(file) : undefined
      return void response.writeHead(bytes ? 200 : 404).end(bytes)
    }
    const upload = world.uploads.get(/^\/api\/upload\/(\w+)$/.exec(path)?.[1] ?? '')
    if (upload) {
      upload.bytes = await readBody(request)
      return void response.writeHead(200).end('OK')
    }
    const method = /^\/api\/([\w.]+)$/.exec(path)?.[1]
    if (method === undefined) return answerPage(request, response, pageOf(world))
    await answerCall({ token, method, payload: await readPayload(request) }, { request, response })
  }

  async function answerCall(
    { token, method, payload }: { token: string; method: string; payload: Record<string, unknown> },
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const what = fault?.({ method, payload })
    const note = { at: world.now(), method, payload }
    if (what?.type === 'delay') await new Promise((resolve) => setTimeout(resolve, what.ms))
    if (what?.type === 'cut-before') {
      world.calls.push({ ...note, isAccepted: false, isAnswered: false, status: 0 })
      return void request.socket.destroy()
    }
    const answer = what?.type === 'error' ? scriptedError(what) : callMethod(token, method, payload)
    const isCut = what?.type === 'cut-after'
    const { status, body, ts } = answer
    const error = body.error === undefined ? undefined : String(body.error)
    world.calls.push({
      ...note,
      isAccepted: status === 200 && body.ok === true,
      isAnswered: !isCut && !response.destroyed,
      status,
      ...defined({ ts, error }),
    })
    world.changed()
    if (isCut) return void request.socket.destroy()
    if (response.destroyed) return
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (answer.retryAfterS !== undefined) headers['retry-after'] = String(answer.retryAfterS)
    response.writeHead(status, headers).end(JSON.stringify(body))
  }

  const isBot = (token: string) => (options.tokens ? token === options.tokens.bot : /^xoxb-./.test(token))
  const isApp = (token: string) => (options.tokens ? token === options.tokens.app : /^xapp-./.test(token))

  function callMethod(token: string, method: string, payload: Record<string, unknown>): MethodAnswer {
    if (method === 'apps.connections.open') {
      if (!isApp(token)) return failure('invalid_auth')
      return { status: 200, body: { ok: true, url: `ws://127.0.0.1:${listening.port}/link` } }
    }
    if (!isBot(token)) return failure('invalid_auth')
    const wait = rateOf?.(method, payload) ?? 0
    if (wait > 0) return { status: 429, body: { ok: false, error: 'ratelimited' }, retryAfterS: wait }
    if (method === 'chat.appendStream') endOldStreams(world)
    return METHODS[method]?.(payload, world) ?? failure('unknown_method')
  }

  return {
    ...world,
    url: `${url}/api`,
    port: listening.port,
    connections: () => connections.length,
    unacknowledged: () => connections.reduce((sum, each) => sum + each.unacknowledged.size, queue.length),
    setFault(next) {
      fault = next
    },
    refresh() {
      for (const { socket } of [...connections])
        socket.send(JSON.stringify({ type: 'disconnect', reason: 'refresh_requested', debug_info: {} }))
    },
    cutConnections() {
      for (const { socket } of [...connections]) socket.terminate()
    },
    frame(text) {
      for (const { socket } of connections) socket.send(text)
    },
    async close() {
      isClosed = true
      stopDelivering()
      for (const { socket, unacknowledged } of [...connections]) {
        for (const { timer } of unacknowledged.values()) clearTimeout(timer)
        socket.terminate()
      }
      sockets.close()
      await listening.goDown()
    },
  }
}

function endOldStreams({ messages, now }: World): void {
  for (const message of messages)
    if (message.isStreaming && now() - Number(message.ts) * 1_000 > STREAM_MS) message.isStreaming = false
}

const scriptedError = ({ status, description, retryAfter }: Extract<CallFault, { type: 'error' }>): MethodAnswer => ({
  status,
  body: { ok: false, error: description },
  ...defined({ retryAfterS: retryAfter }),
})

const pageOf = (world: World) => ({
  platform: 'Slack',
  person: `${ADA.name}, id ${ADA.id}`,
  messages: () =>
    world.messages
      .filter(({ channel, onlyFor }) => channel === world.directChannel(ADA).id && (onlyFor ?? ADA.id) === ADA.id)
      .map(({ ts, isBot, text, buttons, files }) => ({
        message_id: ts,
        name: isBot ? 'Holdfast' : ADA.name,
        is_bot: isBot,
        text: isBot && files?.[0] ? fileLine(files[0]) : text,
        buttons,
      })),
  say: (text: string) => void world.say(text),
  press(id: string, data: string) {
    const message = world.messages.find(({ ts }) => ts === id)
    if (message) world.press(message, data)
    return message !== undefined
  },
})

/** The libraries send forms, with JSON in their fields. */
async function readPayload(request: IncomingMessage): Promise<Record<string, unknown>> {
  const form = new URLSearchParams((await readBody(request)).toString('utf8'))
  return Object.fromEntries([...form].map(([key, value]) => [key, JSON_FIELDS.has(key) ? parsed(value) : value]))
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

const JSON_FIELDS = new Set(['blocks', 'metadata', 'chunks', 'files'])

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
