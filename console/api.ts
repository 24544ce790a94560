import { noteServerTime } from './times.ts'

/** A request that failed: `status` 0 is a server that cannot be reached. */
export type Failure = { status: number; detail: string }

export type Answer<T> = { ok: true; value: T } | { ok: false; failure: Failure }

/** Called when the server no longer accepts the cookie. */
let onSignedOut = () => {}
export const whenSignedOut = (listener: () => void): void => {
  onSignedOut = listener
}

export async function request<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer<T>> {
  const init: RequestInit = { method, headers: body === undefined ? {} : { 'content-type': 'application/json' } }
  if (body !== undefined) init.body = body instanceof FormData ? body : JSON.stringify(body)
  if (body instanceof FormData) init.headers = {}
  if (signal) init.signal = signal
  try {
    const response = await fetch(path, init)
    noteServerTime(response.headers.get('date'))
    if (response.status === 401 && path !== '/v1/session') onSignedOut()
    if (!response.ok) return { ok: false, failure: { status: response.status, detail: await detailOf(response) } }
    return { ok: true, value: (response.status === 204 ? undefined : await response.json()) as T }
  } catch {
    // The connection may also be lost while the body arrives.
    if (signal?.aborted) return { ok: false, failure: { status: 0, detail: 'The request was stopped.' } }
    return { ok: false, failure: { status: 0, detail: 'The server cannot be reached.' } }
  }
}

async function detailOf(response: Response): Promise<string> {
  const text = await response.text()
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown }
    if (typeof detail === 'string') return detail
    if (Array.isArray(detail)) return detail.map((one) => one.msg ?? JSON.stringify(one)).join('; ')
    if (detail && typeof detail === 'object') return (detail as { message?: string }).message ?? JSON.stringify(detail)
    return text.slice(0, 300)
  } catch {
    return text.slice(0, 300) || `The server answered ${response.status}.`
  }
}

export type ServerEvent = { name: string; data: string }

/** Server-sent events, with the cookie; resolves when the stream ends, rejects if it breaks. */
export async function* readEvents(path: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const response = await fetch(path, { signal, headers: { accept: 'text/event-stream' } })
  if (response.status === 401) onSignedOut()
  if (!response.ok || !response.body) throw new StreamRefused(response.status, await detailOf(response))
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const parts = (rest + value).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const event: ServerEvent = { name: 'message', data: '' }
      for (const line of part.split('\n')) {
        if (line.startsWith('event: ')) event.name = line.slice(7)
        else if (line.startsWith('data: ')) event.data += line.slice(6)
      }
      if (event.data !== '') yield event
    }
  }
}

export class StreamRefused extends Error {
  readonly status: number
  constructor(status: number, detail: string) {
    super(detail)
    this.status = status
  }
}

/** Resolves after the time, or when the signal aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done)
  })
