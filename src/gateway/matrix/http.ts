import type { CallOutcome } from '../../ports/platform.ts'
import { failureOf, lostCall, type MatrixError } from './errors.ts'
import { failed, type MatrixRequest, type MatrixTransport } from './transport.ts'

const CALL_TIMEOUT_MS = 20_000
const DOWNLOAD_TIMEOUT_MS = 60_000
const MOST_BYTES = 20 * 1024 * 1024

type Session = { token: string; apiRoot: string }

/** Plain requests: the API needs no library, and a library would repeat them by itself. */
export function matrixTransport({ token, apiRoot }: Session): MatrixTransport {
  const root = `${apiRoot.replace(/\/+$/, '')}/_matrix/client`
  const headers = { authorization: `Bearer ${token}` }

  const ask = (
    { method, path, query, body, timeoutMs = CALL_TIMEOUT_MS }: MatrixRequest,
    signal: AbortSignal,
    redirect: 'manual' | 'follow' = 'manual',
  ) =>
    fetch(`${root}${path}${query ? `?${new URLSearchParams(query)}` : ''}`, {
      method,
      headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
      body: body ? JSON.stringify(body) : null,
      redirect,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })

  return {
    async call<T>(request: MatrixRequest, signal: AbortSignal): Promise<CallOutcome<{ result: T }>> {
      try {
        const response = await ask(request, signal)
        const body = jsonOf(await response.text())
        if (response.ok && body) return { type: 'done', result: body as T }
        const { status } = response
        // A success without JSON is no answer of a homeserver; what became of the request is not known.
        const shown = response.ok ? 502 : status
        return failed(failureOf({ status: shown, body, retryAfter: response.headers.get('retry-after') }))
      } catch (fault) {
        return failed(lostCall(fault))
      }
    },

    async download(path, signal) {
      try {
        // Homeservers redirect to where they keep files; `fetch` sends no token to another origin.
        const response = await ask({ method: 'GET', path, timeoutMs: DOWNLOAD_TIMEOUT_MS }, signal, 'follow')
        if (!response.ok || !response.body) {
          const { status, headers: answered } = response
          const body = jsonOf(await response.text())
          return failed(failureOf({ status, body, retryAfter: answered.get('retry-after') }))
        }
        const pieces: Uint8Array[] = []
        let size = 0
        for await (const piece of response.body) {
          size += piece.length
          if (size > MOST_BYTES) return failed({ kind: 'too-large', detail: 'the file has more than 20 MB' })
          pieces.push(piece)
        }
        return { type: 'done', bytes: Buffer.concat(pieces) }
      } catch (fault) {
        return failed(lostCall(fault))
      }
    },
  }
}

function jsonOf(text: string): MatrixError | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
