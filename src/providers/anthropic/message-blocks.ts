import type {
  Base64ImageSource,
  ContentBlockParam,
  ImageBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages/messages'
import { defined } from '../../core/defined.ts'
import type { ImagePart } from '../../core/image-part.ts'
import type { Json } from '../../core/json.ts'
import type { AnswerPart, AssistantBody, InputBody, MessageBody } from '../../core/message.ts'
import type { ToolOutcome } from '../../core/tool-call.ts'
import { imageData, imageNote, imageUrl } from '../images/image-source.ts'
import { newEncodedMessages } from '../wire/encoded-messages.ts'
import { summaryText } from '../wire/summary-text.ts'
import { wireCallId, wireToolName } from './wire-names.ts'

/** Everything except the body that affects the encoding. Cache marks are added later because they move. */
export type BlockForm = { thoughts: 'replayed' | 'left-out'; resultImages: 'sent' | 'left-out' }

const FORM_KEYS = {
  replayed: { sent: 'ri', 'left-out': 'r' },
  'left-out': { sent: 'i', 'left-out': '' },
} as const

/** The blocks of a message without brackets, so that adjacent messages of one role can share a message. */
export const blockTexts = newEncodedMessages<BlockForm>(
  (body, form) =>
    blocksOf(body, form)
      .map((block) => JSON.stringify(block))
      .join(','),
  formKey,
)

export function formKey({ thoughts, resultImages }: BlockForm): string {
  return FORM_KEYS[thoughts][resultImages]
}

export function blocksOf(body: MessageBody, form: BlockForm): ContentBlockParam[] {
  switch (body.role) {
    case 'user':
    case 'system':
      return inputBlocks(body)
    case 'assistant':
      return answerBlocks(body, form)
    case 'tool':
      return body.outcomes.map((outcome) => resultBlock(outcome, form))
    case 'summary':
      return [{ type: 'text', text: summaryText(body) }]
    case 'approval':
      return []
  }
}

/** Thinking blocks cannot carry a cache mark; all other blocks can. */
export const canBeMarked = (block: ContentBlockParam | undefined): boolean =>
  block !== undefined && block.type !== 'thinking' && block.type !== 'redacted_thinking'

/** Takes an encoded message; the type comes first in each block. */
export const startsWithThought = (blocks: string): boolean => /^\{"type":"(redacted_)?thinking"/.test(blocks)

function inputBlocks({ role, name, content }: InputBody): ContentBlockParam[] {
  const blocks = content.flatMap((part): ContentBlockParam[] => {
    if (part.type === 'image') return [imageBlock(part)]
    return textBlocks(role === 'system' ? `<system>\n${part.text}\n</system>` : part.text)
  })
  return name && blocks.length > 0 ? [{ type: 'text', text: `[Message from ${name}]` }, ...blocks] : blocks
}

function answerBlocks({ content, calls }: AssistantBody, form: BlockForm): ContentBlockParam[] {
  return [
    ...content.flatMap((part) => answerBlock(part, form)),
    ...calls.map(
      (call): ContentBlockParam => ({
        type: 'tool_use',
        id: wireCallId(call.callId),
        name: wireToolName(call.tool),
        input: inputObject(call.input),
      }),
    ),
  ]
}

function answerBlock(part: AnswerPart, { thoughts }: BlockForm): ContentBlockParam[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text)
    case 'reasoning':
      if (thoughts === 'left-out' || !part.signature || !isAnthropic(part.origin)) return []
      return [{ type: 'thinking', thinking: part.text, signature: part.signature }]
    case 'redacted-reasoning':
      return thoughts === 'left-out' || !isAnthropic(part.origin)
        ? []
        : [{ type: 'redacted_thinking', data: part.data }]
    case 'encrypted-reasoning':
      return []
  }
}

/** Old data has no origin. */
const isAnthropic = (origin: Exclude<AnswerPart, { type: 'text' }>['origin']): boolean =>
  origin === undefined || origin === 'anthropic'

function resultBlock(outcome: ToolOutcome, { resultImages }: BlockForm): ContentBlockParam {
  const isError = outcome.status !== 'success'
  const content = resultContent(outcome, resultImages === 'sent' && !isError)
  return {
    type: 'tool_result',
    tool_use_id: wireCallId(outcome.callId),
    ...defined({ content: content.length > 0 ? content : undefined, is_error: isError ? true : undefined }),
  } satisfies ToolResultBlockParam
}

/** The vendor accepts only text in an error result. */
function resultContent({ output, images = [] }: ToolOutcome, withImages: boolean) {
  const shown = images.map((image) =>
    withImages ? imageBlock(image) : textBlock(imageNote('only text can be sent in this tool result.')),
  )
  return [...textBlocks(output), ...shown]
}

function imageBlock(image: ImagePart): ImageBlockParam | TextBlockParam {
  const url = imageUrl(image)
  if (url) return { type: 'image', source: { type: 'url', url } }
  const data = imageData(image)
  if (!data) return textBlock(imageNote('it has neither bytes nor an address.'))
  if (!isTaken(data.mediaType)) return textBlock(imageNote(`its type ${data.mediaType} is not one this model takes.`))
  return { type: 'image', source: { type: 'base64', media_type: data.mediaType, data: data.data } }
}

type MediaType = Base64ImageSource['media_type']
const MEDIA_TYPES: Record<MediaType, true> = {
  'image/jpeg': true,
  'image/png': true,
  'image/gif': true,
  'image/webp': true,
}
const isTaken = (mediaType: string): mediaType is MediaType => Object.hasOwn(MEDIA_TYPES, mediaType)

const textBlock = (text: string): TextBlockParam => ({ type: 'text', text })
/** The vendor rejects blank text. */
const textBlocks = (text: string): TextBlockParam[] => (text.trim() === '' ? [] : [textBlock(text)])

/** The input of a call must be an object, also for a stored call that was rejected because it was not. */
function inputObject(input: Json): Record<string, Json> {
  if (input !== null && typeof input === 'object' && !Array.isArray(input)) return input
  return input === null ? {} : { value: input }
}
