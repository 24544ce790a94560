import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { AccountSettings } from '../../core/gateway/settings.ts'
import type { CallOutcome, ReceiveOptions } from '../../ports/platform.ts'
import { type Bot, rawUpdateOf, type WireUpdate } from './read-update.ts'

type WebhookOptions = {
  settings: AccountSettings
  bot: Bot
  register(payload: object): Promise<CallOutcome>
  kinds: readonly string[]
}

const MOST_BODY = 1024 * 1024
const DEFAULT_LISTEN = '127.0.0.1:8443'

/**
 * Updates by requests of Telegram. It listens on plain HTTP behind the operator's TLS proxy, and answers 200 only when the
 * update is on disk: Telegram repeats any other.
 */
export async function receiveByWebhook(options: ReceiveOptions, webhook: WebhookOptions): Promise<CallFailure> {
  const { settings, register, kinds } = webhook
  const { webhookUrl: url, webhookSecret: secret = '', webhookListen = DEFAULT_LISTEN } = settings
  if (secret === '') return refused('a webhook needs a `webhook_secret`, or anybody could send updates')
  const [host = '127.0.0.1', port = '8443'] = webhookListen.split(':')
  let server: Server
  try {
    server = await listen({ host, port: Number(port) }, (request, response) => {
      void answer(request, response, { options, webhook, secret })
    })
  } catch (fault) {
    return refused(`cannot listen on ${webhookListen}: ${(fault as NodeJS.ErrnoException).code}`)
  }
  try {
    const registered = await register({
      url,
      secret_token: secret,
      allowed_updates: kinds,
      drop_pending_updates: false,
    })
    if (registered.type === 'failed') return registered.failure
    options.alive()
    await aborted(options.signal)
    return { kind: 'stopped', detail: 'stopped' }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const refused = (detail: string): CallFailure => ({ kind: 'refused', detail })

type Answering = { options: ReceiveOptions; webhook: WebhookOptions; secret: string }

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { options, webhook, secret }: Answering,
): Promise<void> {
  try {
    const given = String(request.headers['x-telegram-bot-api-secret-token'] ?? '')
    if (request.method !== 'POST' || !isSame(given, secret)) return end(response, 403)
    const update = await readBody(request)
    if (!update) return end(response, 400)
    await options.commit([rawUpdateOf(update, webhook.bot)], undefined)
    options.alive()
    end(response, 200)
  } catch {
    // Not stored, so Telegram sends it again.
    end(response, 503)
  }
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status).end()
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

async function readBody(request: IncomingMessage): Promise<WireUpdate | undefined> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request) {
    size += (piece as Buffer).length
    if (size > MOST_BODY) return undefined
    pieces.push(piece as Buffer)
  }
  try {
    const update = JSON.parse(Buffer.concat(pieces).toString('utf8')) as WireUpdate
    return Number.isSafeInteger(update?.update_id) ? update : undefined
  } catch {
    return undefined
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const listen = ({ host, port }: { host: string; port: number }, handler: Handler): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer(handler)
    server.once('error', reject)
    server.listen(port, host, () => resolve(server))
  })

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
