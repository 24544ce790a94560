import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../core/json.ts'
import type { ModelProtocol } from './script.ts'

/** What a request to a model asks for, whatever its protocol. */
export type Asked = {
  protocol: ModelProtocol
  path: string
  model: string
  key: string | undefined
  headers: IncomingHttpHeaders
  /** The body as it came. */
  raw: string
  streams: boolean
  /** Gemini streams a JSON array unless it is asked for server-sent events. */
  asArray: boolean
  wantsUsage: boolean
  messages: number
  lastMessage: string
  maxTokens: number | undefined
  hasTools: boolean
  hasImages: boolean
  hasToolImages: boolean
  hasSignatures: boolean
  hasEncrypted: boolean
}

export type Arrived = { path: string; query: URLSearchParams; headers: IncomingHttpHeaders; raw: string; body: Json }

export function readAsked(protocol: ModelProtocol, { path, query, headers, raw, body }: Arrived): Asked {
  const fields = asObject(body)
  const messages = READERS[protocol].messages(fields)
  const objects = [...objectsIn(body)]
  return {
    protocol,
    path,
    headers,
    raw,
    key: keyOf(headers, query),
    model: READERS[protocol].model(fields, path),
    streams: READERS[protocol].streams(fields, path),
    asArray: protocol === 'gemini' && query.get('alt') !== 'sse',
    wantsUsage: protocol !== 'openai-chat' || asObject(fields.stream_options).include_usage === true,
    messages: messages.length,
    lastMessage: textsIn(messages.at(-1)).join('\n'),
    maxTokens: READERS[protocol].maxTokens(fields),
    hasTools: Array.isArray(fields.tools) && fields.tools.length > 0,
    hasImages: objects.some(isImage),
    hasToolImages: objects.some((object) => isToolResult(object) && [...objectsIn(object as Json)].some(isImage)),
    hasSignatures: objects.some(isSigned),
    hasEncrypted: objects.some((object) => typeof object.encrypted_content === 'string'),
  }
}

type Fields = { [key: string]: Json | undefined }
type Reader = {
  model(fields: Fields, path: string): string
  streams(fields: Fields, path: string): boolean
  messages(fields: Fields): Json[]
  maxTokens(fields: Fields): number | undefined
}

const READERS: Record<ModelProtocol, Reader> = {
  'openai-chat': {
    model: (fields) => asText(fields.model),
    streams: (fields) => fields.stream === true,
    messages: (fields) => asList(fields.messages),
    maxTokens: (fields) => asNumber(fields.max_completion_tokens ?? fields.max_tokens),
  },
  'openai-responses': {
    model: (fields) => asText(fields.model),
    streams: (fields) => fields.stream === true,
    messages: (fields) => (typeof fields.input === 'string' ? [fields.input] : asList(fields.input)),
    maxTokens: (fields) => asNumber(fields.max_output_tokens),
  },
  anthropic: {
    model: (fields) => asText(fields.model),
    streams: (fields) => fields.stream === true,
    messages: (fields) => asList(fields.messages),
    maxTokens: (fields) => asNumber(fields.max_tokens),
  },
  gemini: {
    model: (_, path) => decodeURIComponent(/\/models\/([^/:]+):/.exec(path)?.[1] ?? ''),
    streams: (_, path) => path.endsWith(':streamGenerateContent'),
    messages: (fields) => asList(fields.contents),
    maxTokens: (fields) => asNumber(asObject(fields.generationConfig).maxOutputTokens),
  },
}

export function keyOf(headers: IncomingHttpHeaders, query: URLSearchParams): string | undefined {
  const bearer = /^(?:bearer|token) +(.+)$/i.exec(headers.authorization ?? '')?.[1]
  const named = ['x-api-key', 'api-key', 'x-goog-api-key'].map((name) => headers[name]).find((value) => value)
  return bearer ?? (named as string | undefined) ?? query.get('key') ?? undefined
}

const isImage = (object: Fields): boolean =>
  object.type === 'image_url' ||
  object.type === 'input_image' ||
  (object.type === 'image' && object.source !== undefined) ||
  asText(asObject(object.inlineData ?? object.inline_data ?? object.fileData).mimeType).startsWith('image/')

const isToolResult = (object: Fields): boolean =>
  object.role === 'tool' ||
  object.type === 'function_call_output' ||
  object.type === 'tool_result' ||
  object.functionResponse !== undefined

const isSigned = (object: Fields): boolean =>
  typeof object.signature === 'string' ||
  typeof object.thoughtSignature === 'string' ||
  object.type === 'redacted_thinking'

function* objectsIn(value: Json | undefined): Generator<Fields> {
  if (value === null || typeof value !== 'object') return
  if (!Array.isArray(value)) yield value
  for (const inner of Object.values(value)) yield* objectsIn(inner)
}

/** The words of a message, without its data: an image is not text. */
function textsIn(value: Json | undefined): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (value === null || typeof value !== 'object') return []
  return ['text', 'content', 'parts', 'output', 'functionResponse', 'response', 'result'].flatMap((name) =>
    textsIn(value[name]),
  )
}

export const asObject = (value: Json | undefined): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
const asList = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const asNumber = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined)
