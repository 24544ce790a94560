import { SocketModeClient } from '@slack/socket-mode'
import {
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
  WebClient,
} from '@slack/web-api'
import { defined } from '../../core/defined.ts'
import { MOST_FILE_BYTES } from '../../core/gateway/chat-file.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { CallOutcome } from '../../ports/platform.ts'
import { failureOf, failureOfStatus, lostCall } from './errors.ts'
import { type ConnectionHandlers, failed, type SlackTransport } from './transport.ts'

const CALL_TIMEOUT_MS = 20_000
const DOWNLOAD_TIMEOUT_MS = 60_000
const UPLOAD_TIMEOUT_MS = 120_000
/** A connection that is not closed by then is abandoned. */
const CLOSE_MS = 2_000

const STOPPED: CallFailure = { kind: 'stopped', detail: 'stopped' }

const SILENT = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => 'error' as never,
  setName() {},
}

/** Slack's libraries make the calls and keep the connection. Their retries and reconnects are off: ours know what is committed. */
export function slackTransport(tokens: {
  token: string
  appToken: string
  apiRoot: string | undefined
}): SlackTransport {
  const { token, appToken, apiRoot } = tokens
  const options = {
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: CALL_TIMEOUT_MS,
    logger: SILENT,
    ...defined({ slackApiUrl: apiRoot && `${apiRoot.replace(/\/+$/, '')}/` }),
  }
  const client = new WebClient(token, options)

  function failureFrom(fault: unknown): CallFailure {
    if (fault instanceof WebAPIPlatformError) return failureOf(fault.data as { error: string; needed?: string })
    if (fault instanceof WebAPIRateLimitedError)
      return { kind: 'rate-limited', detail: 'ratelimited', retryAfterMs: fault.retryAfter * 1_000 }
    if (fault instanceof WebAPIHTTPError) return failureOfStatus(fault.statusCode, fault.statusMessage)
    return lostCall(fault instanceof WebAPIRequestError ? fault.original : fault)
  }

  async function call<T>(method: string, payload: object, signal: AbortSignal): Promise<CallOutcome<{ result: T }>> {
    const made = client.apiCall(method, payload as Record<string, unknown>).then(
      (result): CallOutcome<{ result: T }> => ({ type: 'done', result: result as T }),
      (fault): CallOutcome<{ result: T }> => failed(failureFrom(fault)),
    )
    const stopped = whenAborted(signal)
    try {
      // The library cannot take back a call, so its effect is unknown.
      return await Promise.race([made, stopped.promise.then(() => failed(lostCall(new Error('stopped'))))])
    } finally {
      stopped.end()
    }
  }

  async function connect(handlers: ConnectionHandlers, signal: AbortSignal): Promise<'refresh' | CallFailure> {
    const socket = new SocketModeClient({
      appToken,
      autoReconnectEnabled: false,
      clientOptions: { ...options },
      logger: SILENT,
    })
    let isRefresh = false
    const closed = new Promise<void>((resolve) => void socket.once('disconnected', () => resolve()))
    // The library parses a frame in a listener whose promise is dropped: a frame that it cannot read would end the process.
    const read = (socket as unknown as { onWebSocketMessage(data: unknown, isBinary: boolean): Promise<void> })
      .onWebSocketMessage
    socket.removeAllListeners('ws_message')
    socket.on('ws_message', (data: unknown, isBinary: boolean) => {
      handlers.alive()
      if (isDisconnect(data)) isRefresh = true
      read.call(socket, data, isBinary).catch(() => undefined)
    })
    socket.on('slack_event', ({ ack, type, body }: { ack(): Promise<void>; type: string; body: unknown }) => {
      handlers.received({ type, body: (body ?? {}) as Record<string, unknown>, acknowledge: () => ack() })
    })
    socket.on('connected', handlers.opened)
    const stopped = whenAborted(signal)
    let isOver = false
    try {
      const started = await Promise.race([
        socket.start().then(
          // Abandoned while it connected.
          () => void (isOver && socket.disconnect().catch(() => undefined)),
          (fault: unknown) => failureFrom(fault ?? new Error('the connection was closed')),
        ),
        stopped.promise.then(() => STOPPED),
      ])
      if (started) return started
      await Promise.race([closed, stopped.promise])
      if (signal.aborted) return STOPPED
      return isRefresh ? 'refresh' : { kind: 'unknown', detail: 'the connection to Slack was closed' }
    } finally {
      isOver = true
      stopped.end()
      const limit = whenAborted(AbortSignal.timeout(CLOSE_MS))
      // Rejects if it never was connected.
      await Promise.race([socket.disconnect().catch(() => undefined), limit.promise])
      limit.end()
      socket.removeAllListeners('slack_event')
    }
  }

  return {
    call,
    connect,
    upload: (url, bytes, signal) => upload(url, bytes, { apiRoot, signal }),
    download: (url, signal) => download(url, { token, apiRoot, signal }),
  }
}

/** Slack ends a connection about every hour, and says so. */
function isDisconnect(data: unknown): boolean {
  if (typeof data !== 'string' || !data.includes('"disconnect"')) return false
  try {
    return (JSON.parse(data) as { type?: string }).type === 'disconnect'
  } catch {
    return false
  }
}

function whenAborted(signal: AbortSignal): { promise: Promise<void>; end(): void } {
  let end = () => {}
  const promise = new Promise<void>((resolve) => {
    const listener = () => resolve()
    if (signal.aborted) resolve()
    signal.addEventListener('abort', listener, { once: true })
    end = () => signal.removeEventListener('abort', listener)
  })
  return { promise, end }
}

/** The address is good for this file without a token. The library would print the bytes into its log. */
async function upload(
  url: string,
  bytes: Uint8Array,
  { apiRoot, signal }: Omit<Download, 'token'>,
): Promise<CallOutcome> {
  if (!URL.canParse(url) || !isFileHost(new URL(url), apiRoot))
    return failed({ kind: 'refused', detail: 'the address for the file is not at Slack' })
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: bytes as Uint8Array<ArrayBuffer>,
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(UPLOAD_TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return response.ok ? { type: 'done' } : failed(failureOfStatus(response.status, response.statusText))
  } catch (fault) {
    return failed(lostCall(fault))
  }
}

type Download = { token: string; apiRoot: string | undefined; signal: AbortSignal }

/** The token goes to Slack only: the address of a file is data of a message. */
async function download(
  url: string,
  { token, apiRoot, signal }: Download,
): Promise<CallOutcome<{ bytes: Uint8Array }>> {
  const isSlack = URL.canParse(url) && isFileHost(new URL(url), apiRoot)
  if (!isSlack) return failed({ kind: 'refused', detail: 'the file is not at Slack' })
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)]),
    })
    // Without the scope files:read, Slack answers with its login page.
    const isPage = response.headers.get('content-type')?.startsWith('text/html') === true && !url.endsWith('.html')
    if (isPage)
      return failed({ kind: 'refused', detail: 'Slack sent a login page: the app needs the scope files:read' })
    if (!response.ok || !response.body)
      return failed({ kind: 'refused', detail: `the download answered ${response.status}` })
    const pieces: Uint8Array[] = []
    let size = 0
    for await (const piece of response.body) {
      size += piece.length
      if (size > MOST_FILE_BYTES) return failed({ kind: 'too-large', detail: 'the file has more than 20 MB' })
      pieces.push(piece)
    }
    return { type: 'done', bytes: Buffer.concat(pieces) }
  } catch (fault) {
    return failed(lostCall(fault))
  }
}

function isFileHost({ protocol, hostname, origin }: URL, apiRoot: string | undefined): boolean {
  if (apiRoot !== undefined) return origin === new URL(apiRoot).origin
  return protocol === 'https:' && (hostname === 'slack.com' || hostname.endsWith('.slack.com'))
}
