import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { Problem, type ProblemKind } from '../../core/problem.ts'
import { readServerNote } from './server-file.ts'

/** HTTP connection to the server that owns a home. */
export type ServerConnection = {
  /** Sends one request and resolves with the JSON response; an error response throws a Problem. */
  request<T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T>
  /** Yields the data of each event of an SSE stream until it ends. */
  streamEvents(path: string, signal: AbortSignal): AsyncGenerator<string, void>
  /** Resolves with true when a server answers again, with false after the timeout. */
  waitUntilBack(signal: AbortSignal): Promise<boolean>
}

type ServerConnectionOptions = {
  home: string
  givenKey: string | undefined
  /** Prints a note while waiting: silence would look like a hang. */
  notify(sentence: string): void
}

const HEALTH_TIMEOUT_MS = 2_000
/** A restart takes about a second; after this long the command fails. */
const RESTART_TIMEOUT_MS = 30_000
const POLL_MS = 200

/** URL of the server that owns this home now. The file of a dead or unresponsive server does not count. */
export async function findServer(home: string): Promise<string | undefined> {
  const note = readServerNote(home)
  if (!note) return undefined
  try {
    const health = await fetch(`${note.url}/v1/health/`, { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) })
    await health.body?.cancel()
    return health.ok ? note.url : undefined
  } catch {
    return undefined
  }
}

export function newServerConnection({ home, givenKey, notify }: ServerConnectionOptions): ServerConnection {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    // Read each time: after a restart the server may listen on another port.
    const url = readServerNote(home)?.url
    if (url === undefined) throw serverUnavailable()
    const headers = { authorization: `Bearer ${keyOf(home, givenKey)}`, ...jsonHeaders(init) }
    const response = await fetch(`${url}${path}`, { ...init, headers }).catch((fault) => {
      throw init.signal?.aborted ? fault : serverUnavailable()
    })
    if (!response.ok) throw await problemOf(response)
    return response
  }
  return {
    async request<T>(method: string, path: string, body?: unknown): Promise<T> {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      return (await send(path, { method, ...sent })).json() as Promise<T>
    },
    async *streamEvents(path, signal) {
      const { body } = await send(path, { signal })
      if (!body) return
      try {
        yield* eventData(body)
      } catch (fault) {
        // A broken connection counts as an ended stream: the caller reconnects.
        if (!(fault instanceof TypeError)) throw fault
      }
    },
    async waitUntilBack(signal) {
      let hasNotified = false
      for (const until = Date.now() + RESTART_TIMEOUT_MS; Date.now() < until && !signal.aborted; ) {
        await sleep(POLL_MS, undefined, { signal }).catch(() => {})
        if (await findServer(home)) return true
        if (!hasNotified) notify('Lost the connection to the server; waiting for it to restart.')
        hasNotified = true
      }
      return false
    },
  }
}

const jsonHeaders = ({ body }: RequestInit): Record<string, string> =>
  body ? { 'content-type': 'application/json' } : {}

const serverUnavailable = () =>
  new Problem(
    'unavailable',
    'The server of this home does not respond. Accepted messages are kept and continue when it is back.',
  )

function keyOf(home: string, given: string | undefined): string {
  if (given) return given
  try {
    return readFileSync(join(home, 'api-key'), 'utf8').trim()
  } catch {
    throw unknownKey()
  }
}

const unknownKey = () =>
  new Problem(
    'invalid',
    'The server of this home uses an API key this shell does not have. Set HOLDFAST_API_KEY to the key of the server.',
  )

const KIND_OF_STATUS: Record<number, ProblemKind> = {
  400: 'invalid',
  404: 'not-found',
  409: 'conflict',
  410: 'gone',
  413: 'invalid',
  422: 'invalid',
  429: 'queue-full',
  503: 'unavailable',
}

async function problemOf(response: Response): Promise<Error> {
  const { status } = response
  const body = (await response.json().catch(() => ({}))) as { detail?: unknown }
  if (status === 401) return unknownKey()
  const kind = KIND_OF_STATUS[status]
  const isPending = (body.detail as { code?: string } | undefined)?.code === 'PENDING_APPROVAL'
  const message = errorMessage(body.detail)
  if (!kind) return new Error(`the server responded with ${status}${message ? `: ${message}` : ''}`)
  return new Problem(isPending ? 'pending-approval' : kind, message || `The server responded with ${status}.`)
}

/** Removes the error code that the API puts before the message; the exit code of the CLI tells the same. */
function errorMessage(detail: unknown): string {
  const text = typeof detail === 'string' ? detail : ((detail as { message?: unknown } | undefined)?.message ?? '')
  return String(text).replace(/^(NOT_FOUND|CONFLICT|INVALID_ARGUMENT): /, '')
}

async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  const arrived: string[] = []
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data) })
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    yield* arrived.splice(0)
  }
}
