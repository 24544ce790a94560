import type { IncomingMessage, ServerResponse } from 'node:http'
import { defined } from '../../core/defined.ts'
import type { CallFault } from '../call-fault.ts'
import { answerPage, fileLine } from '../chat-page.ts'
import { listen } from '../listening.ts'
import { readForm } from '../read-form.ts'
import { failure, METHODS, type MethodAnswer } from './methods.ts'
import { newRates, type SimulatedRates } from './rates.ts'
import { newWorld, type World } from './world.ts'

export type TelegramOptions = {
  /** 0 picks a free port. */
  port?: number
  /** Known tokens. Without any, every well-formed token is a bot. */
  tokens?: readonly string[]
  /** Enforces the rates of Telegram. */
  rates?: SimulatedRates
  /** What happens to a call; asked before each. */
  fault?(call: { method: string; payload: Record<string, unknown> }): CallFault | undefined
  onCall?(line: { method: string; status: number }): void
}

/** A simulated Telegram: the Bot API over HTTP, with its offsets, conflicts, rates, buttons, files and faults. */
export type TelegramServer = World & {
  /** The `api_root` of a bot. */
  readonly url: string
  readonly port: number
  setFault(fault: TelegramOptions['fault']): void
  setRates(rates: SimulatedRates | undefined): void
  close(): Promise<void>
}

const WELL_FORMED = /^\d+:[\w-]{3,}$/
/** Counted by the rates. */
const SENDING = new Set(['sendMessage', 'editMessageText', 'editMessageMedia'])
const MOST_POLL_S = 50

type Poll = { token: string; end(answer: MethodAnswer | undefined): void }
type Webhook = { url: string; secret: string }

export async function startTelegram(options: TelegramOptions = {}): Promise<TelegramServer> {
  const world = newWorld()
  const polls = new Map<string, Poll>()
  const webhooks = new Map<string, Webhook>()
  let { fault } = options
  let rateOf = options.rates && newRates(options.rates, world.now)
  for (const token of options.tokens ?? []) world.addBot(token)

  const listening = await listen(options.port ?? 0, (request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const stopDelivering = world.listen(() => void deliverToWebhooks())

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://local').pathname
    const file = /^\/file\/bot([^/]+)\/(.+)$/.exec(path)
    if (file) return sendFile(response, file[2]!)
    const [, token, method] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
    if (token === undefined || method === undefined) return answerPage(request, response, pageOf(world))
    await answerCall({ token, method, payload: await readPayload(request) }, { request, response })
  }

  async function answerCall(
    { token, method, payload }: { token: string; method: string; payload: Record<string, unknown> },
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const what = fault?.({ method, payload })
    if (what?.type === 'delay') await new Promise((resolve) => setTimeout(resolve, what.ms))
    if (what?.type === 'cut-before') {
      world.record({ token, method, payload, isAccepted: false, isAnswered: false, status: 0 })
      return void request.socket.destroy()
    }
    const answer =
      what?.type === 'error' ? scriptedError(what) : await callMethod(token, method, payload, { response, what })
    if (!answer) return
    const isAccepted = answer.status === 200 && what?.type !== 'nothing'
    const isCut = what?.type === 'cut-after'
    const isAnswered = !isCut && !response.destroyed
    const { status, messageId } = answer
    world.record({
      token,
      method,
      payload,
      isAccepted,
      isAnswered,
      status,
      ...defined({ messageId }),
    })
    options.onCall?.({ method, status })
    if (isCut) return void request.socket.destroy()
    sendJson(response, answer)
  }

  async function callMethod(
    token: string,
    method: string,
    payload: Record<string, unknown>,
    { response, what }: { response: ServerResponse; what: CallFault | undefined },
  ): Promise<MethodAnswer | undefined> {
    const bot = botOf(token)
    if (!bot) return failure(401, 'Unauthorized')
    if (method === 'getUpdates') return getUpdates(token, payload, response)
    if (method === 'setWebhook') {
      webhooks.set(token, { url: String(payload.url ?? ''), secret: String(payload.secret_token ?? '') })
      polls.get(token)?.end(failure(409, 'Conflict: terminated by setWebhook request'))
      void deliverToWebhooks()
      return { status: 200, body: { ok: true, result: true } }
    }
    if (method === 'deleteWebhook') {
      webhooks.delete(token)
      return { status: 200, body: { ok: true, result: true } }
    }
    const wait = SENDING.has(method) ? (rateOf?.(token, { id: Number(payload.chat_id) }) ?? 0) : 0
    if (wait > 0) return failure(429, `Too Many Requests: retry after ${wait}`, { retry_after: wait })
    if (what?.type === 'nothing') return { status: 200, body: { ok: true, result: true } }
    const call = METHODS[method]
    return call ? call(payload, { world, bot, token }) : failure(404, 'Not Found: method not found')
  }

  function botOf(token: string) {
    const known = world.bots.get(token)
    if (known) return known.isRevoked ? undefined : known.user
    const isOpen = (options.tokens ?? []).length === 0 && WELL_FORMED.test(token)
    return isOpen ? world.addBot(token) : undefined
  }

  /** Holds the poll until there is an update. A second poll of the same bot ends the first. */
  function getUpdates(
    token: string,
    { offset, limit = 100, timeout = 0 }: Record<string, unknown>,
    response: ServerResponse,
  ): Promise<MethodAnswer | undefined> {
    if (webhooks.get(token)?.url)
      return Promise.resolve(
        failure(
          409,
          "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        ),
      )
    polls
      .get(token)
      ?.end(
        failure(
          409,
          'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
        ),
      )
    const from = offset === undefined ? undefined : Number(offset)
    const waitMs = Math.min(Number(timeout), MOST_POLL_S) * 1_000
    return new Promise((resolve) => {
      const end = (answer: MethodAnswer | undefined) => {
        clearTimeout(timer)
        stopListening()
        if (polls.get(token) === poll) polls.delete(token)
        resolve(answer)
      }
      const look = (isLast: boolean) => {
        const result = world.updatesFrom(token, from, Number(limit))
        if (result.length > 0 || isLast) end({ status: 200, body: { ok: true, result } })
      }
      const poll: Poll = { token, end }
      polls.set(token, poll)
      const stopListening = world.listen(() => look(false))
      const timer = setTimeout(() => look(true), waitMs)
      response.once('close', () => {
        if (!response.writableEnded) end(undefined)
      })
      look(false)
    })
  }

  let delivering: Promise<void> | undefined
  let isAwaited = false

  async function deliverToWebhooks(): Promise<void> {
    isAwaited = true
    if (delivering || webhooks.size === 0) return
    isAwaited = false
    delivering = deliverAll().finally(() => {
      delivering = undefined
      // An update that came meanwhile may have been missed.
      if (isAwaited) void deliverToWebhooks()
    })
  }

  async function deliverAll(): Promise<void> {
    for (const [token, { url, secret }] of webhooks) {
      for (let update = world.queues.get(token)?.[0]; update && url; update = world.queues.get(token)?.[0]) {
        const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret }
        const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(update) }).catch(
          () => undefined,
        )
        if (!response?.ok) {
          setTimeout(() => void deliverToWebhooks(), 200).unref()
          break
        }
        world.updatesFrom(token, update.update_id + 1, 1)
      }
    }
  }

  function sendFile(response: ServerResponse, path: string): void {
    const file = [...world.files.values()].find((each) => each.path === path)
    response.writeHead(file ? 200 : 404).end(file?.bytes)
  }

  return {
    ...world,
    url: `http://127.0.0.1:${listening.port}`,
    port: listening.port,
    setFault(next) {
      fault = next
    },
    setRates(rates) {
      rateOf = rates && newRates(rates, world.now)
    },
    async close() {
      stopDelivering()
      for (const poll of polls.values()) poll.end(undefined)
      await listening.goDown()
    },
  }
}

const pageOf = (world: World) => ({
  platform: 'Telegram',
  person: `${world.user.first_name}, id ${world.user.id}`,
  messages: () =>
    world.messages
      .filter(({ chat }) => chat.id === world.user.id)
      .map(({ message_id, from, text, buttons, file }) => ({
        message_id: String(message_id),
        name: from.first_name,
        is_bot: from.is_bot === true,
        text: file ? fileLine(file) : text,
        buttons,
      })),
  say: (text: string) => void world.say(text),
  press(id: string, data: string) {
    const message = world.messages.find((each) => String(each.message_id) === id)
    if (message) world.press(message, data)
    return message !== undefined
  },
})

function scriptedError({ status, description, retryAfter }: Extract<CallFault, { type: 'error' }>): MethodAnswer {
  return failure(status, description, retryAfter === undefined ? undefined : { retry_after: retryAfter })
}

function sendJson(response: ServerResponse, { status, body }: MethodAnswer): void {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function readPayload(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const body = Buffer.concat(pieces)
  const form = await readForm(body, request)
  if (form) {
    const { media, ...fields } = form.fields
    return { ...fields, media: media === undefined ? undefined : JSON.parse(media), files: form.files }
  }
  const text = body.toString('utf8')
  const query = Object.fromEntries(new URL(request.url ?? '/', 'http://local').searchParams)
  try {
    return text === '' ? query : { ...query, ...(JSON.parse(text) as object) }
  } catch {
    return query
  }
}
