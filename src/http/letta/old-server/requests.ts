import { defined } from '../../../core/defined.ts'
import { withoutEnding } from '../../../core/without-ending.ts'
import type { Clock } from '../../../ports/clock.ts'
import { SourceFault } from '../../../ports/import-source.ts'
import { RefusedFetch, type SafeFetch } from '../../../ports/safe-fetch.ts'

/** The answer to a request, or why there is none. */
export type OldAnswer =
  | { type: 'json'; value: unknown; hasRepairedText: boolean }
  /** This version of the server has no such route, or there is no such object. */
  | { type: 'absent' }
  /** Longer than fits in memory, or than a person waits for: ask for less. */
  | { type: 'too-large'; reason: string }
  | { type: 'failed'; reason: string }

export type OldServer = { get(path: string, query?: Query): Promise<OldAnswer> }

export type Query = Record<string, string | number | undefined>

type OldServerOptions = {
  url: string
  key?: string | undefined
  /** Requests per second. */
  rate?: number | undefined
  fetch: SafeFetch
  clock: Pick<Clock, 'now' | 'sleep'>
  signal: AbortSignal
  /** How long one body may take. */
  bodyMs?: number
}

/** A page of messages is at most this long; a longer one is asked for again with fewer messages. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** A body that trickles is never silent, so a limit on silence does not end it. */
const BODY_MS = 120_000
const FIRST_BACKOFF_MS = 500
const ATTEMPTS = 5
/** A server that limits requests gets more time. */
const LIMITED_ATTEMPTS = 8
const MAX_WAIT_MS = 60_000

type Failure = { reason: string; isRetryable: boolean; stopsAll: boolean; waitMs?: number; isLimit?: boolean }

/** Requests to the old server: one at a time, slow enough, repeated where that may help. */
export function newOldServer(options: OldServerOptions): OldServer {
  const { url, key, rate, fetch, clock, signal, bodyMs = BODY_MS } = options
  let nextAt = 0

  async function takeTurn(): Promise<void> {
    if (!rate) return
    const now = clock.now()
    const wait = Math.max(0, nextAt - now)
    nextAt = Math.max(now, nextAt) + 1_000 / rate
    if (wait > 0) await clock.sleep(wait, signal)
  }

  async function get(path: string, query: Query = {}): Promise<OldAnswer> {
    const target = addressOf(url, path, query)
    for (let attempt = 1; ; attempt++) {
      await takeTurn()
      signal.throwIfAborted()
      const answer = await ask(target)
      if (!('isRetryable' in answer))
        return answer.type === 'too-large' ? { ...answer, reason: `GET ${path} ${answer.reason}` } : answer
      const most = answer.isLimit ? LIMITED_ATTEMPTS : ATTEMPTS
      if (!answer.isRetryable || attempt >= most) {
        if (answer.stopsAll)
          throw new SourceFault(
            `${url} ${answer.reason}. Everything read so far is kept; run the same import again to go on.`,
          )
        return { type: 'failed', reason: `GET ${path} ${answer.reason}` }
      }
      await clock.sleep(Math.min(MAX_WAIT_MS, answer.waitMs ?? FIRST_BACKOFF_MS * 2 ** (attempt - 1)), signal)
    }
  }

  async function ask(target: URL): Promise<OldAnswer | Failure> {
    const done = new AbortController()
    const late = new AbortController()
    try {
      const headers = {
        accept: 'application/json',
        ...defined({
          authorization: key ? `Bearer ${key}` : undefined,
          // Of older versions.
          'x-bare-password': key ? `password ${key}` : undefined,
        }),
      }
      const response = await fetch(target, { headers, signal: AbortSignal.any([signal, late.signal]) })
      void clock.sleep(bodyMs, done.signal).then(() => late.abort())
      return await readAnswer(response)
    } catch (fault) {
      if (signal.aborted) throw fault
      if (late.signal.aborted)
        return { type: 'too-large', reason: `is still arriving after ${Math.ceil(bodyMs / 1_000)} s` }
      return connectionFailure(fault)
    } finally {
      done.abort()
    }
  }

  return { get }
}

function addressOf(url: string, path: string, query: Query): URL {
  const address = new URL(`${withoutEnding(url, '/')}${path}`)
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) address.searchParams.set(name, String(value))
  return address
}

async function readAnswer(response: Response): Promise<OldAnswer | Failure> {
  const { status, headers } = response
  if (status === 404 || status === 405 || status === 501) {
    await response.body?.cancel()
    return { type: 'absent' }
  }
  if (status === 401 || status === 403) {
    await response.body?.cancel()
    return failure(`refuses the key (${status}); give its password with --key`, { isRetryable: false, stopsAll: true })
  }
  if (status === 429) {
    await response.body?.cancel()
    const seconds = Number(headers.get('retry-after'))
    const waitMs = Number.isFinite(seconds) && seconds > 0 ? { waitMs: seconds * 1_000 } : {}
    return {
      ...failure('limits the requests (429); use a lower --rate', { isRetryable: true, stopsAll: true }),
      ...waitMs,
      isLimit: true,
    }
  }
  if (status >= 300) {
    const text = (await boundedText(response)).text.slice(0, 200).replaceAll(/\s+/g, ' ')
    return failure(`is answered with ${status}: ${text}`, { isRetryable: status >= 500, stopsAll: false })
  }
  const read = await boundedText(response)
  if (read.isCut) return { type: 'too-large', reason: `is longer than ${MAX_ANSWER_BYTES / 1024 / 1024} MB` }
  try {
    return { type: 'json', value: JSON.parse(read.text), hasRepairedText: read.hasRepairedText }
  } catch {
    const what = /^\s*</.test(read.text)
      ? 'is answered with a web page instead of JSON'
      : 'is answered with broken JSON'
    return failure(what, { isRetryable: true, stopsAll: false })
  }
}

type BoundedText = { text: string; isCut: boolean; hasRepairedText: boolean }

/** The body as text. Bytes that are not UTF-8 become replacement characters. */
async function boundedText(response: Response): Promise<BoundedText> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.byteLength
    if (size > MAX_ANSWER_BYTES) return { text: '', isCut: true, hasRepairedText: false }
    pieces.push(piece)
  }
  const bytes = Buffer.concat(pieces, size)
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), isCut: false, hasRepairedText: false }
  } catch {
    return { text: bytes.toString('utf8'), isCut: false, hasRepairedText: true }
  }
}

function connectionFailure(fault: unknown): Failure {
  if (fault instanceof RefusedFetch)
    return failure(`cannot be asked: ${fault.message}`, { isRetryable: false, stopsAll: true })
  const { cause, message } = fault as Error
  const code = (cause as { code?: string } | undefined)?.code ?? (fault as { code?: string }).code
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'UND_ERR_CONNECT_TIMEOUT')
    return failure('does not answer', { isRetryable: true, stopsAll: true })
  const why = (cause instanceof Error ? cause.message : '') || message
  return failure(`broke off: ${why.slice(0, 200)}`, { isRetryable: true, stopsAll: false })
}

const failure = (reason: string, { isRetryable, stopsAll }: Pick<Failure, 'isRetryable' | 'stopsAll'>): Failure => ({
  reason,
  isRetryable,
  stopsAll,
})
