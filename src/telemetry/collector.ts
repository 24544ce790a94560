import { defined } from '../core/defined.ts'
import type { Clock } from '../ports/clock.ts'
import type { Randomness } from '../ports/randomness.ts'
import type { SafeFetch } from '../ports/safe-fetch.ts'

export type CollectorDeps = {
  endpoint: string
  headers: Readonly<Record<string, string>>
  fetch: SafeFetch
  clock: Clock
  randomness: Randomness
}

/** `rejected`: how many entries the collector took the request without. */
type Sent =
  | { type: 'taken'; rejected: number; detail?: string }
  | { type: 'unavailable' | 'refused'; detail: string; waitMs?: number }

type Collector = {
  /** `tries`: how often it is sent. `signal`: sends no more. Never rejects. */
  send(path: '/v1/traces' | '/v1/metrics', body: object, options: SendOptions): Promise<Sent>
}
type SendOptions = { tries: number; signal: AbortSignal }

const DEADLINE_MS = 10_000
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 30_000
/** All that OTLP allows to retry; every other refusal is final. */
const RETRYABLE = new Set([429, 502, 503, 504])

/** Sends OTLP over HTTP as JSON. A retry is the same body, so its spans have the same ids. */
export function newCollector({ endpoint, headers, fetch, clock, randomness }: CollectorDeps): Collector {
  const base = endpoint.replace(/\/+$/, '')
  return {
    async send(path, body, { tries, signal }) {
      const text = JSON.stringify(body)
      for (let tried = 1; ; tried++) {
        const sent = await sendOnce(path, text, signal)
        if (sent.type !== 'unavailable' || tried >= tries || signal.aborted) return sent
        const backoff = FIRST_WAIT_MS * 2 ** (tried - 1) * (0.5 + randomness.fraction() / 2)
        await clock.sleep(Math.min(sent.waitMs ?? backoff, MAX_WAIT_MS), signal)
        if (signal.aborted) return sent
      }
    },
  }

  async function sendOnce(path: string, body: string, stopped: AbortSignal): Promise<Sent> {
    const done = new AbortController()
    const late = new AbortController()
    void clock.sleep(DEADLINE_MS, done.signal).then(() => late.abort(new Error(`no answer within ${DEADLINE_MS} ms`)))
    try {
      const response = await fetch(`${base}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'holdfast' },
        body,
        signal: AbortSignal.any([stopped, late.signal]),
      })
      const text = await response.text()
      if (response.ok) return { type: 'taken', ...rejectedIn(text) }
      const detail = `it answered ${response.status}: ${text.slice(0, 200)}`
      if (!RETRYABLE.has(response.status)) return { type: 'refused', detail }
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      return { type: 'unavailable', detail, ...defined({ waitMs: seconds >= 0 ? seconds * 1_000 : undefined }) }
    } catch (fault) {
      return { type: 'unavailable', detail: faultDetail(late.signal.aborted ? late.signal.reason : fault) }
    } finally {
      done.abort()
    }
  }
}

/** The partial success of a response. Another body than the one of OTLP says nothing. */
function rejectedIn(text: string): { rejected: number; detail?: string } {
  try {
    const { rejectedSpans, rejectedDataPoints, errorMessage } = JSON.parse(text)?.partialSuccess ?? {}
    const rejected = Number(rejectedSpans ?? rejectedDataPoints ?? 0)
    if (!(rejected > 0)) return { rejected: 0 }
    return { rejected, detail: `it rejected ${rejected} of them: ${String(errorMessage ?? '').slice(0, 200)}` }
  } catch {
    return { rejected: 0 }
  }
}

function faultDetail(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault).slice(0, 200)
  return (fault.cause instanceof Error ? fault.cause.message || fault.message : fault.message).slice(0, 200)
}
