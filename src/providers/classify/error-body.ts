import { maskKeys } from './secrets.ts'

/** The content of an error response in one form for all vendors. */
export type ErrorBody = {
  form: 'json' | 'page' | 'text' | 'empty'
  /** The messages, outermost first. */
  messages: string[]
  /** Typed codes in lower case: `code` before `type` before `status`, the outermost first. */
  codes: string[]
  /** The HTTP status that the body itself states. */
  status?: number | undefined
  requestId?: string | undefined
  /** The upstream provider that an aggregator names. */
  upstream?: string | undefined
  /** Named numbers and times (`n_ctx`, `resets_at`, `retryDelay`), with keys in lower case. */
  fields: Record<string, string | number>
}

const MAX_BODY_CHARACTERS = 262_144
const MAX_MESSAGE_CHARACTERS = 4_000
const MAX_DEPTH = 8
const MAX_NODES = 400

export function readErrorBody(body: string): ErrorBody {
  const read: ErrorBody = { form: 'text', messages: [], codes: [], fields: {} }
  const text = body.slice(0, MAX_BODY_CHARACTERS).trim()
  const json = parsedJson(text) ?? parsedEvents(text)
  if (text === '') read.form = 'empty'
  else if (json !== undefined) readJson(json, read)
  else if (PAGE.test(text)) readPage(text, read)
  else readText(text, read)
  return read
}

// The keys under which vendors put messages, codes and nested errors; keys that echo the request (`input`, `value`) are
// left out.
const MESSAGE_KEYS = [
  'message',
  'msg',
  'error_message',
  'error_description',
  'detail',
  'title',
  'reason_message',
  'err',
]
const CODE_KEYS = [
  'code',
  'error_code',
  'errorcode',
  'type',
  '__type',
  'error_type',
  'status',
  'reason',
  'limit_source',
]
const CONTAINER_KEYS = [
  'error',
  'errors',
  'detail',
  'details',
  'innererror',
  'inner_error',
  'metadata',
  'raw',
  'upstream_error',
  'provider_specific_fields',
  'response',
  'violations',
  'body',
  'data',
  'headers',
  'cause',
]
const FIELD_KEYS = [
  'n_ctx',
  'n_prompt_tokens',
  'resets_at',
  'reset_at',
  'resets_in_seconds',
  'retry_after',
  'retry_after_ms',
  'retry_after_seconds',
  'retrydelay',
  'quotaresetdelay',
  'quotaresettimestamp',
  'quotaid',
  'x-ratelimit-reset',
]
const STATUS_KEYS = ['code', 'status', 'status_code', 'statuscode', 'http_status', 'raw_status_code']
const REQUEST_ID_KEYS = ['request_id', 'requestid', 'correlation_id']

type Walk = { depth: number; nodes: { left: number } }

function readJson(json: unknown, read: ErrorBody): void {
  read.form = 'json'
  visit(json, read, { depth: 0, nodes: { left: MAX_NODES } })
}

function visit(value: unknown, read: ErrorBody, walk: Walk): void {
  if (walk.depth > MAX_DEPTH || walk.nodes.left-- <= 0) return
  const below = { ...walk, depth: walk.depth + 1 }
  if (typeof value === 'string') readMessage(value, read, below)
  else if (Array.isArray(value)) for (const item of value) visit(item, read, below)
  else if (isRecord(value)) visitRecord(value, read, below)
}

function visitRecord(record: Record<string, unknown>, read: ErrorBody, walk: Walk): void {
  const entries = new Map(Object.entries(record).map(([key, value]) => [key.toLowerCase(), value]))
  for (const key of MESSAGE_KEYS) {
    const value = entries.get(key)
    if (typeof value === 'string') readMessage(value, read, walk)
  }
  for (const key of CODE_KEYS) addCode(entries.get(key), read)
  for (const key of STATUS_KEYS) read.status ??= statusIn(entries.get(key))
  for (const key of FIELD_KEYS) {
    const value = entries.get(key)
    if (typeof value === 'number' || (typeof value === 'string' && value !== '')) read.fields[key] ??= value
  }
  for (const key of REQUEST_ID_KEYS) read.requestId ??= shortText(entries.get(key))
  read.upstream ??= shortText(entries.get('provider_name'))
  for (const key of CONTAINER_KEYS) {
    const value = entries.get(key)
    if (typeof value === 'string' && MESSAGE_KEYS.includes(key)) continue
    if (value !== undefined && value !== null) visit(value, read, walk)
  }
}

/** A message that is or contains JSON was relayed by a proxy; the inner error is read too. */
function readMessage(message: string, read: ErrorBody, walk: Walk): void {
  const whole = parsedJson(message)
  if (isRecord(whole) || Array.isArray(whole)) {
    visit(whole, read, walk)
    return
  }
  const text = collapse(message.slice(0, MAX_MESSAGE_CHARACTERS))
  if (text !== '' && !read.messages.includes(text)) read.messages.push(text)
  const inside = parsedJson(message.slice(message.indexOf('{'), message.lastIndexOf('}') + 1))
  if (isRecord(inside)) visit(inside, read, walk)
}

/** Names of the event around an error, which carry no information. */
const ENVELOPES = /^(?:error|failed|failure|response\..*)$/

function addCode(value: unknown, read: ErrorBody): void {
  const code = typeof value === 'number' ? String(value) : shortText(value)
  if (code === undefined || /^[1-5]\d\d$/.test(code)) return
  // Bedrock prefixes a namespace: `com.amazon.coral.service#ThrottlingException`.
  const name = maskKeys(code.slice(code.lastIndexOf('#') + 1)).toLowerCase()
  if (!ENVELOPES.test(name) && !read.codes.includes(name)) read.codes.push(name)
}

const PAGE = /^\s*(?:<!doctype\s+html|<html|<head|<body|<\?xml[^>]*>\s*<(?:!doctype|html))|<\/(?:html|title|h1)>/i

function readPage(text: string, read: ErrorBody): void {
  read.form = 'page'
  const title = firstInside(text, 'title')
  const heading = firstInside(text, 'h1')
  read.status = statusIn(/\b([45]\d\d)\b/.exec(`${title} ${heading}`)?.[1])
  for (const message of [title, heading, textOfPage(text)])
    if (message !== '' && !read.messages.includes(message)) read.messages.push(message)
}

function firstInside(page: string, element: string): string {
  const start = page.toLowerCase().indexOf(`<${element}`)
  const end = start < 0 ? -1 : page.toLowerCase().indexOf(`</${element}>`, start)
  return end < 0 ? '' : textOfPage(page.slice(start, end))
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': ' ', '&gt;': ' ', '&quot;': '"', '&#39;': "'" }

export function textOfPage(page: string): string {
  const words = page
    .slice(0, 16_384)
    .replace(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? ' ')
    .replace(/[<>]/g, ' ')
  return collapse(words).slice(0, MAX_MESSAGE_CHARACTERS)
}

/** Plain text, or truncated JSON, whose codes are still readable. */
function readText(text: string, read: ErrorBody): void {
  const start = text.slice(0, MAX_MESSAGE_CHARACTERS)
  for (const match of start.matchAll(/"(?:code|type|status|__type)"\s*:\s*"([^"]{1,100})"/g)) addCode(match[1], read)
  const message = /"message"\s*:\s*"((?:[^"\\]|\\.){1,2000})/.exec(start)?.[1]
  if (message) read.messages.push(collapse(message))
  read.messages.push(collapse(start))
}

/** The first JSON line or `data: {…}` event. */
function parsedEvents(text: string): unknown {
  for (const line of text.slice(0, 65_536).split('\n', 50)) {
    const json = parsedJson(line.replace(/^\s*data:\s*/, ''))
    if (json !== undefined) return json
  }
  return undefined
}

function parsedJson(text: string): unknown {
  const start = text.trimStart()[0]
  if (start !== '{' && start !== '[' && start !== '"') return undefined
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON, or truncated: the caller reads it as text.
    return undefined
  }
}

function statusIn(value: unknown): number | undefined {
  const status = typeof value === 'number' ? value : typeof value === 'string' && /^\d{3}$/.test(value) ? +value : 0
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}

const shortText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= 120 ? value : undefined

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const collapse = (text: string): string => text.replace(/\s+/g, ' ').trim()
