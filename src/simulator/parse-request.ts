import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../core/json.ts'
import { SIMULATED_DIALECTS } from './dialects.ts'
import { asObject, asText, type Fields } from './request-fields.ts'
import type { ModelProtocol } from './script.ts'

/** A model request, parsed from any protocol. */
export type ParsedModelRequest = {
  protocol: ModelProtocol
  path: string
  model: string
  key: string | undefined
  headers: IncomingHttpHeaders
  /** The body as received. */
  raw: string
  streams: boolean
  /** Gemini streams a JSON array unless the request asks for server-sent events. */
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

export type ReceivedRequest = {
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  raw: string
  body: Json
}

export function parseModelRequest(
  protocol: ModelProtocol,
  { path, query, headers, raw, body }: ReceivedRequest,
): ParsedModelRequest {
  const fields = asObject(body)
  const { reader } = SIMULATED_DIALECTS[protocol]
  const messages = reader.messages(fields)
  const objects = [...objectsIn(body)]
  return {
    protocol,
    path,
    headers,
    raw,
    key: keyOf(headers, query),
    model: reader.model(fields, path),
    streams: reader.streams(fields, path),
    asArray: reader.asArray?.(query) ?? false,
    wantsUsage: reader.wantsUsage?.(fields) ?? true,
    messages: messages.length,
    lastMessage: textsIn(messages.at(-1)).join('\n'),
    maxTokens: reader.maxTokens(fields),
    hasTools: Array.isArray(fields.tools) && fields.tools.length > 0,
    hasImages: objects.some(isImage),
    hasToolImages: objects.some((object) => isToolResult(object) && [...objectsIn(object as Json)].some(isImage)),
    hasSignatures: objects.some(isSigned),
    hasEncrypted: objects.some((object) => typeof object.encrypted_content === 'string'),
  }
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

/** The text of a message, without binary data such as images. */
function textsIn(value: Json | undefined): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (value === null || typeof value !== 'object') return []
  return ['text', 'content', 'parts', 'output', 'functionResponse', 'response', 'result'].flatMap((name) =>
    textsIn(value[name]),
  )
}
