import { Problem, type ProblemKind } from '../../core/problem.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The HTTP API of a home: that of the server that owns it, or the same operations in this process. */
export type Api = {
  /** Sends one request and resolves with the JSON response; an error response throws a Problem. */
  request<T>(method: Method, path: string, body?: unknown): Promise<T>
}

const WARNINGS_HEADER = 'x-holdfast-warnings'

/** Sends one request and resolves with the response of any status. */
type Send = (path: string, init: RequestInit) => Promise<Response>

/** `warn` gets what the server says about a request that it carried out. */
export const newApi = (send: Send, warn: (sentence: string) => void): Api => ({
  async request<T>(method: Method, path: string, body?: unknown): Promise<T> {
    const response = await send(path, { method, ...bodyOf(body) })
    if (!response.ok) throw await problemOf(response)
    const warning = response.headers.get(WARNINGS_HEADER)
    if (warning) warn(warning)
    const text = await response.text()
    return (text === '' ? null : JSON.parse(text)) as T
  },
})

/** A form is sent as multipart/form-data, everything else as JSON. */
function bodyOf(body: unknown): RequestInit {
  if (body === undefined) return {}
  if (body instanceof FormData) return { body }
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

export const unknownKey = () =>
  new Problem(
    'invalid',
    'The server of this home uses an API key this shell does not have. Set HOLDFAST_API_KEY to the key of the server.',
  )

const KIND_OF_STATUS: Record<number, ProblemKind> = {
  400: 'invalid',
  402: 'run-failed',
  403: 'invalid',
  404: 'not-found',
  409: 'conflict',
  410: 'gone',
  413: 'invalid',
  415: 'unsupported-type',
  422: 'invalid',
  429: 'queue-full',
  501: 'not-served',
  502: 'peer-failed',
  503: 'unavailable',
  504: 'peer-timeout',
}

export async function problemOf(response: Response): Promise<Error> {
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
