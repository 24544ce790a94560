import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { Problem } from '../../core/problem.ts'
import { readServerNote } from '../../disk/server-file.ts'
import { type Api, newApi, problemOf, unknownKey } from './api.ts'

/** HTTP connection to the server that owns a home. */
export type ServerConnection = Api & {
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
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${keyOf(home, givenKey)}` }
    return fetch(`${url}${path}`, { ...init, headers }).catch((fault) => {
      throw init.signal?.aborted ? fault : serverUnavailable()
    })
  }
  return {
    ...newApi(send, notify),
    async *streamEvents(path, signal) {
      const response = await send(path, { signal })
      if (!response.ok) throw await problemOf(response)
      const { body } = response
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
        if (await findServer(home)) {
          if (hasNotified) notify('The server is back.')
          return true
        }
        if (!hasNotified) notify('Lost the connection to the server; waiting for it to restart.')
        hasNotified = true
      }
      return false
    },
  }
}

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

async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  const arrived: string[] = []
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data) })
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    yield* arrived.splice(0)
  }
}
