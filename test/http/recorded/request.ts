/**
 * One request of the corpus. Texts may hold references: `{{ada}}` is a value an earlier answer was asked for with `keep`,
 * `{{long:500}}` a text of that length.
 */
export type RecordedRequest = {
  method: string
  path: string
  /** The name of a kept key; the key of the home if absent, no key for `none`. */
  key?: string
  json?: unknown
  /** A body as it is, instead of `json`; the content type is then up to `headers`. */
  raw?: string
  /** A body in base64, for bytes that are no text. */
  bytes?: string
  /** A form, whose field `file` becomes a file. */
  form?: Record<string, string>
  headers?: Record<string, string>
  /** Names for values of the answer, each by its path in it: `body.id`, `headers.x-run-id`. */
  keep?: Record<string, string>
  /** The request is sent again until the value at `at` is none of `not`; only the last answer is recorded. */
  until?: { at: string; not: unknown[] }
  /** For answers whose body is described elsewhere, or differs from run to run. */
  only?: 'status'
}

type Options = Omit<RecordedRequest, 'method' | 'path'>

export const get = (path: string, options: Options = {}): RecordedRequest => ({ method: 'GET', path, ...options })

export const post = (path: string, json?: unknown, options: Options = {}): RecordedRequest =>
  withBody('POST', path, json, options)

export const put = (path: string, json?: unknown, options: Options = {}): RecordedRequest =>
  withBody('PUT', path, json, options)

export const patch = (path: string, json?: unknown, options: Options = {}): RecordedRequest =>
  withBody('PATCH', path, json, options)

export const remove = (path: string, options: Options = {}): RecordedRequest => ({ method: 'DELETE', path, ...options })

function withBody(method: string, path: string, json: unknown, options: Options): RecordedRequest {
  return json === undefined ? { method, path, ...options } : { method, path, json, ...options }
}

/** Well-formed ids that belong to nothing. The recording leaves them as they are. */
export const MISSING_UUID = '00000000-0000-4000-8000-00000000dead'
