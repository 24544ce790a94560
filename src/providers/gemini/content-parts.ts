import type { FunctionResponse, FunctionResponsePart, Part } from '@google/genai'
import { defined } from '../../core/defined.ts'
import type { ImagePart } from '../../core/image-part.ts'
import type { Json } from '../../core/json.ts'
import type { AnswerPart, AssistantBody, InputBody, MessageBody, ToolBody } from '../../core/message.ts'
import type { ToolOutcome } from '../../core/tool-call.ts'
import { imageData, imageNote, imageUrl } from '../images/image-source.ts'
import { newEncodedMessages } from '../wire/encoded-messages.ts'
import { summaryText } from '../wire/summary-text.ts'

/** Everything except the body that affects how a message is encoded. */
export type PartForm = {
  signatures: 'replayed' | 'left-out'
  /** How a call without a signature of this vendor is sent. */
  unsignedCalls: 'bare' | 'excused'
  resultImages: 'nested' | 'beside' | 'left-out'
  /** The answer before a tool message: results carry the names of their tools. It is constant for one message. */
  answer?: AssistantBody | undefined
}

/** The parts of a message without brackets, so that adjacent messages of one role can share a content. */
export const partTexts = newEncodedMessages<PartForm>(
  (body, form) =>
    partsOf(body, form)
      .map((part) => JSON.stringify(part))
      .join(','),
  formKey,
)

export function formKey({ signatures, unsignedCalls, resultImages }: PartForm): string {
  return `${signatures}/${unsignedCalls}/${resultImages}`
}

function partsOf(body: MessageBody, form: PartForm): Part[] {
  switch (body.role) {
    case 'user':
    case 'system':
      return inputParts(body)
    case 'assistant':
      return answerParts(body, form)
    case 'tool':
      return resultParts(body, form)
    case 'summary':
      return [{ text: summaryText(body) }]
    case 'approval':
      return []
  }
}

function inputParts({ role, name, content }: InputBody): Part[] {
  const parts = content.flatMap((part): Part[] => {
    if (part.type === 'image') return [imagePart(part)]
    return textParts(role === 'system' ? `<system>\n${part.text}\n</system>` : part.text)
  })
  return name && parts.length > 0 ? [{ text: `[Message from ${name}]` }, ...parts] : parts
}

function answerParts({ content, calls }: AssistantBody, form: PartForm): Part[] {
  const parts: Part[] = []
  for (const part of content) addAnswerPart(parts, part, form)
  for (const [index, call] of calls.entries()) {
    const { callId, tool, input } = call
    const signature = callSignature(call.signature, index, form)
    parts.push({
      functionCall: { ...defined({ id: callId || undefined }), name: tool || 'unknown_tool', args: inputObject(input) },
      ...defined({ thoughtSignature: signature || undefined }),
    })
  }
  return parts
}

/** The vendor's placeholder for a call that it did not make itself, or whose signature was lost. */
const SKIP_SIGNATURE = 'skip_thought_signature_validator'

/** Of parallel calls only the first is signed. */
function callSignature(signature: string | undefined, index: number, form: PartForm): string | undefined {
  const isOurs = signature !== undefined && !signature.startsWith('ai-sdk:')
  if (isOurs && form.signatures === 'replayed') return signature
  return index === 0 && form.unsignedCalls === 'excused' ? SKIP_SIGNATURE : undefined
}

/** A signature that came with text is stored as an empty thought after it, and is attached to that text again. */
function addAnswerPart(parts: Part[], part: AnswerPart, { signatures }: PartForm): void {
  switch (part.type) {
    case 'text':
      parts.push(...textParts(part.text))
      return
    case 'reasoning': {
      if (signatures === 'left-out' || !part.signature || part.origin !== 'gemini') return
      const last = parts.at(-1)
      if (part.text !== '') parts.push({ text: part.text, thought: true, thoughtSignature: part.signature })
      else if (last?.text && !last.thoughtSignature) last.thoughtSignature = part.signature
      else parts.push({ text: '', thoughtSignature: part.signature })
      return
    }
    case 'redacted-reasoning':
    case 'encrypted-reasoning':
      return
  }
}

function resultParts({ outcomes }: ToolBody, form: PartForm): Part[] {
  const responses = outcomes.map((outcome, index): Part => {
    const name = form.answer?.calls[index]?.tool || 'unknown_tool'
    return { functionResponse: functionResponse(outcome, name, form) as FunctionResponse }
  })
  if (form.resultImages !== 'beside') return responses
  return [...responses, ...outcomes.flatMap((outcome) => (outcome.images ?? []).map(imagePart))]
}

function functionResponse({ callId, status, output, images = [] }: ToolOutcome, name: string, form: PartForm) {
  const nested = form.resultImages === 'nested' ? images.map(nestedImage) : []
  const parts = nested.filter((image): image is FunctionResponsePart => typeof image !== 'string')
  const leftOut = imageNote('only text can be sent in this tool result.')
  const notes =
    form.resultImages === 'left-out' ? images.map(() => leftOut) : nested.filter((image) => typeof image === 'string')
  const text = [output, ...notes].join('\n')
  return {
    ...defined({ id: callId || undefined }),
    name,
    response: status === 'success' ? { output: text } : { error: text },
    ...defined({ parts: parts.length > 0 ? parts : undefined }),
  } satisfies FunctionResponse
}

function nestedImage(image: ImagePart): FunctionResponsePart | string {
  const { text, inlineData, fileData } = imagePart(image)
  if (inlineData) return { inlineData } as FunctionResponsePart
  if (fileData) return { fileData } as FunctionResponsePart
  return text ?? ''
}

const MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif']

function imagePart(image: ImagePart): Part {
  const url = imageUrl(image)
  if (url) return { fileData: { fileUri: url, mimeType: typeOfUrl(url) } }
  const data = imageData(image)
  if (!data) return { text: imageNote('it has neither bytes nor an address.') }
  if (!MEDIA_TYPES.includes(data.mediaType))
    return { text: imageNote(`its type ${data.mediaType} is not one this model takes.`) }
  return { inlineData: { mimeType: data.mediaType, data: data.data } }
}

function typeOfUrl(url: string): string {
  const extension = /\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase()
  return MEDIA_TYPES.find((type) => type === `image/${extension}`) ?? 'image/jpeg'
}

const textParts = (text: string): Part[] => (text.trim() === '' ? [] : [{ text }])

/** The arguments of a call must be an object, also for a stored call that was rejected because they were not. */
function inputObject(input: Json): Record<string, Json> {
  if (input !== null && typeof input === 'object' && !Array.isArray(input)) return input
  return input === null ? {} : { value: input }
}
