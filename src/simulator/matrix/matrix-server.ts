import type { IncomingMessage, ServerResponse } from 'node:http'
import { defined } from '../../core/defined.ts'
import type { CallFault } from '../call-fault.ts'
import { answerPage } from '../chat-page.ts'
import { listen } from '../listening.ts'
import { failure, ROUTES, type RouteAnswer } from './routes.ts'
import { newTokens, syncOf } from './sync.ts'
import { ADA, BOT, newWorld, type World } from './world.ts'

export type MatrixOptions = {
  /** 0 picks a free port. */
  port?: number
  /** The known access token. Without one, every token is the bot's. */
  token?: string
  /** What happens to a call; asked before each but `/sync`. */
  fault?(call: { method: string; path: string }): CallFault | undefined
  /** Events that an account may send at once, and in a second after that. */
  rate?: { burst: number; perSecond: number }
  /** Events of a room in one answer of `/sync`, at most. */
  timelineLimit?: number
}

/** A simulated homeserver: its client-server API with sync, transactions, invitations, history and faults. */
export type MatrixServer = World & {
  /** The `api_root` of an account. */
  readonly url: string
  readonly port: number
  /** Requests for `/sync` that wait. */
  connections(): number
  setFault(fault: MatrixOptions['fault']): void
  setToken(token: string | undefined): void
  setTimelineLimit(limit: number | undefined): void
  /** As after weeks, or for another session: a repeated transaction makes a second event. */
  forgetTransactions(): void
  /** Tokens of `/sync` are not known any more. */
  forgetPositions(): void
  /** Requests for `/sync` that wait are cut. */
  cutConnections(): void
  close(): Promise<void>
}

/** It answers as if it had worked. */
const NOTHING: RouteAnswer = { status: 200, body: {} }
const LONGEST_POLL_MS = 30_000

export async function startMatrix(options: MatrixOptions = {}): Promise<MatrixServer> {
  const world = newWorld()
  const tokens = newTokens()
  const transactions = new Map<string, string>()
  const polls = new Set<ServerResponse>()
  let { fault, token: known, timelineLimit } = options
  const bucket = { tokens: options.rate?.burst ?? 0, at: world.now() }

  const listening = await listen(options.port ?? 0, (request, response) => {
    serve(request, response).catch(() => response.destroy())
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://local')
    const path = /^\/_matrix\/client(\/.+)$/.exec(pathname)?.[1]
    if (path === undefined) return answerPage(request, response, pageOf(world))
    const method = request.method ?? 'GET'
    const body = await readBody(request)
    const refused = refusalOf(request)
    if (path === '/v3/sync') return refused ? answer(response, refused) : sync(query, response)
    const what = fault?.({ method, path: decodeURIComponent(path) })
    const note = { at: world.now(), method, path: decodeURIComponent(path), body }
    if (what?.type === 'delay') await new Promise((resolve) => setTimeout(resolve, what.ms))
    if (what?.type === 'cut-before') {
      world.calls.push({ ...note, isAccepted: false, isAnswered: false, status: 0 })
      return void request.socket.destroy()
    }
    const given =
      what?.type === 'nothing'
        ? NOTHING
        : what?.type === 'error'
          ? scriptedError(what)
          : (refused ?? route({ method, path, body, query }))
    const isCut = what?.type === 'cut-after'
    const { status } = given
    world.calls.push({ ...note, isAccepted: status < 300, isAnswered: !isCut && !response.destroyed, status })
    world.changed()
    if (isCut) return void request.socket.destroy()
    const file = status === 200 && /^\/v1\/media\/download\/[^/]+\/([^/]+)$/.exec(path)?.[1]
    if (file) return void response.writeHead(200).end(world.media.get(file))
    answer(response, given)
  }

  function refusalOf({ headers }: IncomingMessage): RouteAnswer | undefined {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
    if (token === undefined) return failure(401, 'M_MISSING_TOKEN', 'Missing access token')
    return (known ?? token) === token ? undefined : failure(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.')
  }

  /** Waits until there is something to say. */
  async function sync(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const given = query.get('since')
    const since = given === null ? undefined : tokens.read(given)
    if (given !== null && since === undefined)
      return answer(response, failure(400, 'M_UNKNOWN', 'Invalid stream token'))
    const asked = { since, filter: query.get('filter'), tokens, timelineLimit }
    const waitMs = Math.min(Number(query.get('timeout') ?? 0), LONGEST_POLL_MS)
    const end = Date.now() + waitMs
    for (polls.add(response); ; ) {
      const news = syncOf(world, { ...asked, timelineLimit })
      const left = end - Date.now()
      if (news || left <= 0 || response.destroyed) {
        polls.delete(response)
        return answer(response, { status: 200, body: news ?? { next_batch: tokens.of(world.position()) } })
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          stop()
          response.off('close', wake)
          resolve()
        }
        const timer = setTimeout(wake, left)
        const stop = world.listen(wake)
        response.once('close', wake)
      })
    }
  }

  type Parts = { method: string; path: string; body: Record<string, unknown>; query: URLSearchParams }

  function route({ method, path, body, query }: Parts): RouteAnswer {
    const isSend = method === 'PUT' && path.includes('/send/')
    const waitMs = isSend ? waitForRate() : 0
    if (waitMs > 0)
      return {
        status: 429,
        body: { errcode: 'M_LIMIT_EXCEEDED', error: 'Too Many Requests', retry_after_ms: waitMs },
        headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
      }
    const file = /^\/v1\/media\/download\/[^/]+\/([^/]+)$/.exec(path)?.[1]
    if (file !== undefined)
      return world.media.has(file) ? { status: 200, body: {} } : failure(404, 'M_NOT_FOUND', 'Not found')
    for (const [pattern, answerOf] of ROUTES) {
      const match = pattern.exec(`${method} ${path}`)
      if (match) return answerOf(match.slice(1).map(decodeURIComponent), { body, query, tokens, transactions }, world)
    }
    return failure(404, 'M_UNRECOGNIZED', 'Unrecognized request')
  }

  function waitForRate(): number {
    const { rate } = options
    if (!rate) return 0
    const now = world.now()
    bucket.tokens = Math.min(rate.burst, bucket.tokens + ((now - bucket.at) / 1_000) * rate.perSecond)
    bucket.at = now
    if (bucket.tokens < 1) return Math.ceil(((1 - bucket.tokens) / rate.perSecond) * 1_000)
    bucket.tokens -= 1
    return 0
  }

  function cutConnections(): void {
    for (const response of polls) response.socket?.destroy()
    polls.clear()
  }

  return {
    ...world,
    url: `http://127.0.0.1:${listening.port}`,
    port: listening.port,
    connections: () => polls.size,
    setFault(next) {
      fault = next
    },
    setToken(next) {
      known = next
      cutConnections()
    },
    setTimelineLimit(next) {
      timelineLimit = next
    },
    forgetTransactions: () => transactions.clear(),
    forgetPositions() {
      tokens.forget()
      cutConnections()
    },
    cutConnections,
    async close() {
      cutConnections()
      await listening.goDown()
    },
  }
}

function answer(response: ServerResponse, { status, body, headers }: RouteAnswer): void {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

const scriptedError = ({ status, description, retryAfter }: Extract<CallFault, { type: 'error' }>): RouteAnswer => {
  const [errcode = 'M_UNKNOWN', ...words] = description.split(' ')
  const retry_after_ms = retryAfter === undefined ? undefined : retryAfter * 1_000
  return { status, body: { errcode, error: words.join(' '), ...defined({ retry_after_ms }) } }
}

const pageOf = (world: World) => ({
  platform: 'Matrix',
  person: ADA.id,
  messages: () =>
    world.messages
      .filter(({ room }) => room === world.directRoom(ADA).id)
      .map(({ id, sender, text, offered }) => ({
        message_id: id,
        name: world.names.get(sender) ?? sender,
        is_bot: sender === BOT.id,
        text,
        buttons: offered.map((sign) => ({ text: sign, callback_data: sign })),
      })),
  say: (text: string) => void world.say(text),
  press(id: string, data: string) {
    const message = world.messages.find((each) => each.id === id)
    if (message) world.react(message, data)
    return message !== undefined
  },
})

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const text = Buffer.concat(pieces).toString('utf8')
  try {
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
  } catch {
    return {}
  }
}
