import { DiscordAPIError, HTTPError, RateLimitError, REST, RequestMethod } from '@discordjs/rest'
import { SimpleShardingStrategy, WebSocketManager, WebSocketShardEvents, WebSocketShardStatus } from '@discordjs/ws'
import { defined } from '../../core/defined.ts'
import { MOST_FILE_BYTES } from '../../core/gateway/chat-file.ts'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { CallOutcome } from '../../ports/platform.ts'
import { failureOf, failureOfClose, failureOfStatus, lostCall } from './errors.ts'
import { type ConnectionHandlers, type DiscordTransport, failed, type HttpMethod } from './transport.ts'

const CALL_TIMEOUT_MS = 20_000
const DOWNLOAD_TIMEOUT_MS = 60_000
const READY_MS = 15_000
/** Any code but 1000 and 1001: the session stays, so that the next process resumes it. */
const KEEPS_SESSION = 4200
const CLOSE_MS = 2_000

/** GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES and MESSAGE_CONTENT, which Discord has to allow. */
const INTENTS = 37_377

const METHODS: Record<HttpMethod, RequestMethod> = {
  GET: RequestMethod.Get,
  POST: RequestMethod.Post,
  PUT: RequestMethod.Put,
  PATCH: RequestMethod.Patch,
  DELETE: RequestMethod.Delete,
}

const NOT_READY: CallFailure = {
  kind: 'unknown',
  detail: `Discord did not say READY within ${READY_MS / 1_000} s`,
}
const STOPPED: CallFailure = { kind: 'stopped', detail: 'stopped' }

/** Discord's libraries make the calls and keep the connection. Their retries are off, and their session is what is committed. */
export function discordTransport({ token, apiRoot }: { token: string; apiRoot: string | undefined }): DiscordTransport {
  const rest = new REST({
    version: '10',
    retries: 0,
    timeout: CALL_TIMEOUT_MS,
    // Their queue would hold calls back without a word.
    rejectOnRateLimit: () => true,
    ...defined({ api: apiRoot?.replace(/\/+$/, '') }),
  })
  rest.on('error', () => undefined)

  const call: DiscordTransport['call'] = async <T>(
    { method, path, body, query, file }: Parameters<DiscordTransport['call']>[0],
    signal: AbortSignal,
  ): Promise<CallOutcome<{ result: T }>> => {
    // The library forgets a token that was refused once.
    rest.setToken(token)
    try {
      const result = await rest.request({
        method: METHODS[method],
        fullRoute: path as `/${string}`,
        signal,
        ...defined({
          body,
          query: query && new URLSearchParams(query),
          files: file && [{ name: file.name, data: Buffer.from(file.bytes), contentType: file.mediaType }],
        }),
      })
      return { type: 'done', result: result as T }
    } catch (fault) {
      return failed(failureFrom(fault))
    }
  }

  return {
    call,
    connect: (handlers, signal) => connect({ rest, token }, handlers, signal),
    download: (url, signal) => download(url, { apiRoot, signal }),
  }
}

function failureFrom(fault: unknown): CallFailure {
  if (fault instanceof RateLimitError)
    return { kind: 'rate-limited', detail: 'rate limited', retryAfterMs: Math.max(fault.retryAfter, 100) }
  if (fault instanceof DiscordAPIError) return failureOf(fault)
  if (fault instanceof HTTPError) return failureOfStatus(fault.status)
  return lostCall(fault)
}

type Parts = { rest: REST; token: string }

async function connect(
  { rest, token }: Parts,
  handlers: ConnectionHandlers,
  signal: AbortSignal,
): Promise<CallFailure> {
  rest.setToken(token)
  let isOver = false
  let strategy: SimpleShardingStrategy | undefined
  const manager = new WebSocketManager({
    buildStrategy(own) {
      strategy = new SimpleShardingStrategy(own)
      return strategy
    },
    token,
    rest,
    intents: INTENTS as 0,
    shardCount: 1,
    readyTimeout: READY_MS,
    helloTimeout: READY_MS,
    handshakeTimeout: READY_MS,
    retrieveSessionInfo: () => handlers.session() ?? null,
    // Its sequence is what arrived; ours is what is committed.
    updateSessionInfo(_, session) {
      if (isOver) return
      if (session === null) handlers.forgotten()
      else if (session.sessionId !== handlers.session()?.sessionId) handlers.began(session)
    },
  })
  const ended = new Promise<CallFailure>((resolve) => {
    let waits = 0
    const isReady = () => {
      waits += 1
    }
    const expectReady = () => {
      isReady()
      const mine = waits
      AbortSignal.timeout(READY_MS).addEventListener('abort', () => {
        if (mine === waits) resolve(NOT_READY)
      })
    }
    expectReady()
    const end = (failure: CallFailure) => {
      isReady()
      resolve(failure)
    }
    manager.on(WebSocketShardEvents.Ready, isReady)
    manager.on(WebSocketShardEvents.Resumed, () => {
      isReady()
      handlers.resumed()
    })
    manager.on(WebSocketShardEvents.Closed, (code) => {
      const failure = failureOfClose(code)
      if (failure) end(failure)
      // The library connects again by itself, and resumes.
      else expectReady()
    })
    manager.on(WebSocketShardEvents.Error, (fault) => end(lostCall(fault)))
    manager.on(WebSocketShardEvents.SocketError, (fault) => end(lostCall(fault)))
    manager.on(WebSocketShardEvents.HeartbeatComplete, () => handlers.alive())
    manager.on(WebSocketShardEvents.Dispatch, ({ t, s, d }) =>
      handlers.received({ type: t, sequence: s, data: d as unknown as Record<string, unknown> }),
    )
    signal.addEventListener('abort', () => end(STOPPED), { once: true })
    if (signal.aborted) end(STOPPED)
    manager.connect().catch((fault: unknown) => end(failureFrom(fault)))
  })
  try {
    return await ended
  } finally {
    isOver = true
    await leave(manager, strategy)
    manager.removeAllListeners()
    // What it does after its end must not end the process.
    manager.on(WebSocketShardEvents.Error, () => undefined)
  }
}

/** A shard that pauses before it connects again is looked for some times. */
const SWEEPS = 4
const SWEEP_MS = 700

/**
 * Ends the connection and keeps the session. A shard that waits for HELLO or READY would take the end for a timeout and connect
 * again, so it is told first that its connection is closed.
 */
async function leave(manager: WebSocketManager, strategy: SimpleShardingStrategy | undefined): Promise<void> {
  const { shards } = (strategy ?? {}) as unknown as { shards?: Map<number, Shard> }
  const end = async () => {
    for (const shard of shards?.values() ?? []) shard.emit(WebSocketShardEvents.Closed, KEEPS_SESSION)
    await pause(0)
    await Promise.race([
      Promise.resolve(manager.destroy({ code: KEEPS_SESSION })).catch(() => undefined),
      pause(CLOSE_MS),
    ])
  }
  await end()
  const sweep = async () => {
    for (let count = 0; count < SWEEPS; count++) {
      await pause(SWEEP_MS)
      const isIdle = [...(shards?.values() ?? [])].every(({ status }) => status === WebSocketShardStatus.Idle)
      if (!isIdle) await end()
    }
  }
  void sweep().catch(() => undefined)
}

type Shard = { status: WebSocketShardStatus; emit(event: string, code: number): boolean }

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    AbortSignal.timeout(ms).addEventListener('abort', () => resolve())
  })

/** Attachments are on Discord's own hosts; the address is data of a message. */
async function download(
  url: string,
  { apiRoot, signal }: { apiRoot: string | undefined; signal: AbortSignal },
): Promise<CallOutcome<{ bytes: Uint8Array }>> {
  if (!URL.canParse(url) || !isFileHost(new URL(url), apiRoot))
    return failed({ kind: 'refused', detail: 'the file is not at Discord' })
  try {
    const response = await fetch(url, {
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)]),
    })
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

const FILE_HOSTS = new Set(['cdn.discordapp.com', 'media.discordapp.net'])

const isFileHost = ({ protocol, hostname, origin }: URL, apiRoot: string | undefined): boolean =>
  apiRoot === undefined ? protocol === 'https:' && FILE_HOSTS.has(hostname) : origin === new URL(apiRoot).origin
