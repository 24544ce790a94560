/**
 * One request of the corpus. Texts may contain references: `{{ada}}` is a value that an earlier request stored with
 * `keep`, `{{long:500}}` is a text of that length.
 */
export type RecordedRequest = {
  method: string
  path: string
  /** The name of a stored key. Default: the key of the home. `none`: no key. */
  key?: string
  json?: unknown
  /** A raw body in place of `json`; `headers` sets its content type. */
  raw?: string
  /** A body in base64, for bytes that are not text. */
  bytes?: string
  /** A form; its field `file` is sent as a file. */
  form?: Record<string, string>
  headers?: Record<string, string>
  /** Names under which values of the answer are stored, by path: `body.id`, `headers.x-run-id`. */
  keep?: Record<string, string>
  /** Polls until the value at `at` is not in `not`; only the last answer is recorded. */
  until?: { at: string; not: unknown[] }
  /** Leaves out a body that is described elsewhere or differs from run to run. */
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

/** Well-formed ids of missing resources. The recording does not normalize them. */
export const MISSING_UUID = '00000000-0000-4000-8000-00000000dead'
