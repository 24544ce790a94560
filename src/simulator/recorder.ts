import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../core/json.ts'
import type { Protocol } from './script.ts'

/** One request: how it arrived and how it ended. */
export type RequestRecord = {
  /** From 1, in order of arrival. */
  number: number
  method: string
  /** Includes the query. */
  path: string
  headers: IncomingHttpHeaders
  key: string | undefined
  /** Parsed JSON; the raw text if it is not JSON, null if it is empty. */
  body: Json
  protocol: Protocol | 'unknown'
  model: string
  arrivedAt: number
  /** HTTP status, once the response has one. */
  status?: number
  ended?: { at: number; how: Ending }
}

/** `closed-by-simulator`: the script closed the connection, or the simulator went down. */
type Ending = 'answered' | 'closed-by-client' | 'closed-by-simulator'

export type Recorder = {
  readonly requests: readonly RequestRecord[]
  arrived(request: Omit<RequestRecord, 'number' | 'arrivedAt'>): RequestRecord
  ended(request: RequestRecord, how: Ending): void
  waitForRequests(count: number, options?: WaitOptions): Promise<readonly RequestRecord[]>
  waitForClosed(number: number, options?: WaitOptions): Promise<RequestRecord>
  clear(): void
}

type WaitOptions = { withinMs?: number }

/** Shorter than the timeout of a test, so that the error names what did not happen. */
const WAIT_TIMEOUT_MS = 10_000

export function newRecorder(): Recorder {
  const requests: RequestRecord[] = []
  const watchers = new Set<() => void>()
  const notify = () => {
    for (const look of [...watchers]) look()
  }

  function until<T>(
    find: () => T | undefined,
    { what, withinMs = WAIT_TIMEOUT_MS }: WaitOptions & { what: string },
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        watchers.delete(look)
        clearTimeout(timer)
        settle()
      }
      const look = () => {
        const found = find()
        if (found !== undefined) finish(() => resolve(found))
      }
      const giveUp = () =>
        finish(() =>
          reject(new Error(`${what} did not happen within ${withinMs} ms; ${requests.length} requests arrived`)),
        )
      const timer = setTimeout(giveUp, withinMs)
      watchers.add(look)
      look()
    })
  }

  return {
    requests,
    arrived(request) {
      const recorded: RequestRecord = { ...request, number: requests.length + 1, arrivedAt: Date.now() }
      requests.push(recorded)
      notify()
      return recorded
    },
    ended(request, how) {
      request.ended = { at: Date.now(), how }
      notify()
    },
    waitForRequests: (count, options) =>
      until(() => (requests.length >= count ? requests : undefined), { what: `request ${count}`, ...options }),
    waitForClosed: (number, options) =>
      until(
        () => {
          const request = requests[number - 1]
          return request?.ended ? request : undefined
        },
        { what: `the end of request ${number}`, ...options },
      ),
    clear() {
      requests.length = 0
    },
  }
}
