import type { IncomingMessage, ServerResponse } from 'node:http'
import { WebSocketServer } from 'ws'
import { defined } from '../../core/defined.ts'
import type { CallFault } from '../call-fault.ts'
import { answerPage } from '../chat-page.ts'
import { listen } from '../listening.ts'
import { type ReceivedFile, readForm } from '../read-form.ts'
import { failure, ROUTES, type RouteAnswer } from './routes.ts'
import { newSessions } from './sessions.ts'
import { ADA, BOT, newWorld, type World } from './world.ts'

export type DiscordOptions = {
  /** 0 picks a free port. */
  port?: number
  /** The known token. Without one, every token is the bot's. */
  token?: string
  /** What happens to a call; asked before each. */
  fault?(call: { method: string; path: string }): CallFault | undefined
  /** Calls to one channel in five seconds. */
  callsPerChannel?: number
}

/** A simulated Discord: its REST API, and its gateway with sessions, resumption, interactions and faults. */
export type DiscordServer = World & {
  /** The `api_root` of an account. */
  readonly url: string
  readonly port: number
  /** Sessions with a connection. */
  connections(): number
  setFault(fault: DiscordOptions['fault']): void
  /** The intent with which a bot may read messages. */
  setContentIntent(isAllowed: boolean): void
  /** Whether the gateway answers an IDENTIFY. */
  setMute(isMute: boolean): void
  invalidateSessions(): void
  forgetSessions(): void
  askToReconnect(): void
  cutConnections(): void
  close(): Promise<void>
}

const WINDOW_MS = 5_000

export async function startDiscord(options: DiscordOptions = {}): Promise<DiscordServer> {
  const world = newWorld()
  const sockets = new WebSocketServer({ noServer: true })
  const sent = new Map<string, number[]>()
  let { fault } = options
  let hasContent = true
  let isMute = false

  const listening = await listen(
    options.port ?? 0,
    (request, response) => {
      serve(request, response).catch(() => response.destroy())
    },
    (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (opened) => sessions.connected(opened))
    },
  )
  const gatewayUrl = `ws://127.0.0.1:${listening.port}`
  const sessions = newSessions(world, {
    token: () => options.token,
    resumeUrl: () => gatewayUrl,
    hasContent: () => hasContent,
    isMute: () => isMute,
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://local')
    const file = /^\/api\/files\/(.+)$/.exec(pathname)?.[1]
    if (file !== undefined) {
      const bytes = world.files.get(file)
      return void response.writeHead(bytes ? 200 : 404).end(bytes)
    }
    const path = /^\/api\/v\d+(\/.+)$/.exec(pathname)?.[1]
    if (path === undefined) return answerPage(request, response, pageOf(world))
    const method = request.method ?? 'GET'
    const { body, files } = await readBody(request)
    const what = fault?.({ method, path })
    const note = { at: world.now(), method, path, body }
    if (what?.type === 'delay') await new Promise((resolve) => setTimeout(resolve, what.ms))
    if (what?.type === 'cut-before') {
      world.calls.push({ ...note, isAccepted: false, isAnswered: false, status: 0 })
      return void request.socket.destroy()
    }
    const answer =
      what?.type === 'error' ? scriptedError(what) : route({ request, path, body, files, query: searchParams })
    const isCut = what?.type === 'cut-after'
    const { status, headers } = answer
    world.calls.push({ ...note, isAccepted: status < 300, isAnswered: !isCut && !response.destroyed, status })
    world.changed()
    if (isCut) return void request.socket.destroy()
    if (response.destroyed) return
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(status === 204 ? undefined : JSON.stringify(answer.body))
  }

  type Parts = Body & { request: IncomingMessage; path: string; query: URLSearchParams }

  function route({ request, path, body, files, query }: Parts): RouteAnswer {
    const token = /^Bot (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    // Interactions are answered with their own token.
    const isOpen = /^\/(interactions|webhooks)\//.test(path)
    if (!isOpen && (token === undefined || (options.token ?? token) !== token))
      return { status: 401, body: { message: '401: Unauthorized', code: 0 } }
    const name = `${request.method} ${path}`
    if (name === 'GET /gateway/bot') {
      const limit = { total: 1_000, remaining: 999, reset_after: 14_400_000, max_concurrency: 1 }
      return { status: 200, body: { url: gatewayUrl, shards: 1, session_start_limit: limit } }
    }
    if (name === 'GET /applications/@me') return { status: 200, body: { id: BOT.id, flags: hasContent ? 1 << 19 : 0 } }
    const channel = /^(?:POST|PATCH) \/channels\/(\d+)\/messages/.exec(name)?.[1]
    const waitS = channel === undefined ? 0 : waitFor(channel)
    if (waitS > 0) {
      const headers = { 'retry-after': String(waitS), 'x-ratelimit-scope': 'user' }
      return {
        status: 429,
        body: { message: 'You are being rate limited.', retry_after: waitS, global: false },
        headers,
      }
    }
    for (const [pattern, answer] of ROUTES) {
      const match = pattern.exec(name)
      if (match) return answer(match.slice(1), { body, files, query }, world)
    }
    return failure(404, 0, '404: Not Found')
  }

  function waitFor(channel: string): number {
    const { callsPerChannel } = options
    if (callsPerChannel === undefined) return 0
    const at = world.now()
    const times = (sent.get(channel) ?? []).filter((each) => each > at - WINDOW_MS)
    sent.set(channel, times)
    if (times.length >= callsPerChannel) return Math.max(0.1, (times[0]! + WINDOW_MS - at) / 1_000)
    times.push(at)
    return 0
  }

  return {
    ...world,
    url: `http://127.0.0.1:${listening.port}/api`,
    port: listening.port,
    connections: sessions.count,
    setFault(next) {
      fault = next
    },
    setContentIntent(isAllowed) {
      hasContent = isAllowed
    },
    setMute(next) {
      isMute = next
    },
    invalidateSessions: sessions.invalidate,
    forgetSessions: sessions.forget,
    askToReconnect: sessions.reconnect,
    cutConnections: sessions.cut,
    async close() {
      sessions.stop()
      sessions.cut()
      sockets.close()
      await listening.goDown()
    },
  }
}

const scriptedError = ({ status, description, retryAfter }: Extract<CallFault, { type: 'error' }>): RouteAnswer => ({
  status,
  body: { code: 0, message: description, ...defined({ retry_after: retryAfter }) },
  ...defined({ headers: retryAfter === undefined ? undefined : { 'retry-after': String(retryAfter) } }),
})

const pageOf = (world: World) => ({
  platform: 'Discord',
  person: `${ADA.username}, id ${ADA.id}`,
  messages: () =>
    world.messages
      .filter(({ channel }) => channel.recipient === ADA.id)
      .map(({ id, author, content, buttons }) => ({
        message_id: id,
        name: author.username,
        is_bot: author.bot === true,
        text: content,
        buttons,
      })),
  say: (text: string) => void world.say(text),
  press(id: string, data: string) {
    const message = world.messages.find((each) => each.id === id)
    if (message) world.press(message, data)
    return message !== undefined
  },
})

type Body = { body: Record<string, unknown>; files: ReceivedFile[] }

async function readBody(request: IncomingMessage): Promise<Body> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const bytes = Buffer.concat(pieces)
  const form = await readForm(bytes, request)
  const text = form?.fields.payload_json ?? bytes.toString('utf8')
  const files = form?.files ?? []
  try {
    return { body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>), files }
  } catch {
    return { body: {}, files }
  }
}
