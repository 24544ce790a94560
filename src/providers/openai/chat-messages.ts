import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import type { ImagePart } from '../../core/image-part.ts'
import { canonicalJson } from '../../core/json.ts'
import { type AssistantBody, type InputBody, type MessageBody, textOf } from '../../core/message.ts'
import type { ToolOutcome } from '../../core/tool-call.ts'
import { imageNote } from '../images/image-source.ts'
import { newEncodedMessages } from '../wire/encoded-messages.ts'
import type { Quirks } from '../wire/quirks.ts'
import { summaryText } from '../wire/summary-text.ts'
import { withWholeCharacters } from '../wire/whole-characters.ts'
import { type Detail, detailsOf } from './reasoning-details.ts'
import { wireCallId, wireToolName } from './wire-names.ts'

/** Everything except the body that affects how a message is encoded. */
export type ChatForm = {
  images: 'all' | 'not-in-results' | 'none'
  signatures: 'kept' | 'left-out'
  /** Where a model caches what is marked, every text is a part, so that only the marks of two requests differ. */
  caching: 'automatic' | 'unmarked' | 'marked'
  quirks: Pick<Quirks, 'reasoningField' | 'reasoningWithCalls' | 'reasoningDetails' | 'callIds' | 'withoutNames'>
}

export const chatMessages = newEncodedMessages<ChatForm>(
  (body, form) =>
    withCaching(messagesOf(body, form), form.caching)
      .map((message) => JSON.stringify(message))
      .join(','),
  ({ images, signatures, caching, quirks }) =>
    `${images}/${signatures}/${caching}/${quirks.reasoningField}/${quirks.reasoningWithCalls}/${quirks.reasoningDetails}/${quirks.callIds}/${quirks.withoutNames}`,
)

type TextPart = { type: 'text'; text: string; cache_control?: { type: 'ephemeral' } }

/** The mark is on the last text of the last message; without a text there is none. */
function withCaching(messages: ChatCompletionMessageParam[], caching: ChatForm['caching']): object[] {
  if (caching === 'automatic') return messages
  const inParts = messages.map((message) => {
    const { content } = message
    return typeof content === 'string' && content !== ''
      ? { ...message, content: [{ type: 'text', text: content } satisfies TextPart] }
      : message
  })
  const content = inParts.at(-1)?.content
  const last = Array.isArray(content) ? content.findLastIndex((part) => part.type === 'text') : -1
  if (caching === 'unmarked' || last < 0) return inParts
  const parts = (content as object[]).map((part, index) =>
    index === last ? { ...part, cache_control: { type: 'ephemeral' } } : part,
  )
  return [...inParts.slice(0, -1), { ...inParts.at(-1), content: parts }]
}

function messagesOf(body: MessageBody, form: ChatForm): ChatCompletionMessageParam[] {
  switch (body.role) {
    case 'user':
      return [{ role: 'user', content: inputContent(body, form), ...nameOf(body, form) }]
    case 'system':
      return [{ role: 'system', content: textOf(body.content), ...nameOf(body, form) }]
    case 'assistant':
      return answerMessages(body, form)
    case 'tool':
      return resultMessages(body.outcomes, form)
    case 'summary':
      return [{ role: 'user', content: summaryText(body) }]
    case 'approval':
      return []
  }
}

/** Text without images is sent as a plain string, which every server accepts. */
function inputContent({ content }: InputBody, form: ChatForm): string | ChatCompletionContentPart[] {
  if (!content.some((part) => part.type === 'image')) return textOf(content)
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    return form.images === 'none' ? { type: 'text', text: NO_IMAGES } : imagePart(part)
  })
}

/** Names that the vendor accepts; others are left out. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/
const nameOf = ({ name }: InputBody, { quirks }: ChatForm): { name?: string } =>
  name !== undefined && NAME.test(name) && !quirks.withoutNames ? { name } : {}

type AnswerMessage = ChatCompletionAssistantMessageParam & {
  reasoning_content?: string
  reasoning?: string
  reasoning_details?: Detail[]
}

function answerMessages(body: AssistantBody, { signatures, quirks }: ChatForm): AnswerMessage[] {
  const text = textOf(body.content)
  const thoughts = thoughtsOf(body, quirks, signatures)
  if (text === '' && body.calls.length === 0) return []
  const message: AnswerMessage = { role: 'assistant', content: text === '' ? null : text, ...thoughts }
  if (body.calls.length === 0) return [message]
  message.tool_calls = body.calls.map(({ callId, tool, input }) => ({
    id: wireCallId(callId, quirks.callIds),
    type: 'function',
    function: { name: wireToolName(tool), arguments: withWholeCharacters(canonicalJson(input)) },
  }))
  return [message]
}

/** Thoughts are sent back only if the vendor needs them, and only those of this dialect. */
function thoughtsOf({ content, calls }: AssistantBody, quirks: ChatForm['quirks'], signatures: ChatForm['signatures']) {
  const ours = content.flatMap((part) =>
    part.type === 'reasoning' && (part.origin ?? 'openai-chat') === 'openai-chat' ? [part] : [],
  )
  const details = ours.flatMap(({ signature }) => (signature === undefined ? [] : detailsOf(signature)))
  if (quirks.reasoningDetails && signatures === 'kept' && details.length > 0) return { reasoning_details: details }
  const text = ours.map((part) => part.text).join('')
  const isDue = text !== '' || (calls.length > 0 && quirks.reasoningWithCalls === 'always')
  return quirks.reasoningField && isDue ? { [quirks.reasoningField]: text } : {}
}

/** A tool message holds only text; its images follow in a user message after the last result of the answer. */
function resultMessages(outcomes: readonly ToolOutcome[], form: ChatForm): ChatCompletionMessageParam[] {
  const results = outcomes.map((outcome): ChatCompletionMessageParam => {
    const notes = form.images === 'all' ? [] : (outcome.images ?? []).map(() => NOTES[form.images as 'none'])
    const tool_call_id = wireCallId(outcome.callId, form.quirks.callIds)
    return { role: 'tool', tool_call_id, content: [outcome.output, ...notes].join('\n') }
  })
  const shown = form.images === 'all' ? outcomes.flatMap((outcome) => imagesOf(outcome, form)) : []
  return shown.length === 0 ? results : [...results, { role: 'user', content: shown }]
}

function imagesOf({ callId, images = [] }: ToolOutcome, { quirks }: ChatForm): ChatCompletionContentPart[] {
  if (images.length === 0) return []
  const text = `[Images that the tool call ${wireCallId(callId, quirks.callIds)} returned]`
  return [{ type: 'text', text }, ...images.map(imagePart)]
}

const NO_IMAGES = imageNote('images are not sent in this request.')
const NOTES = {
  'not-in-results': imageNote('only text can be sent in this tool result.'),
  none: NO_IMAGES,
} as const

const imagePart = ({ source }: ImagePart): ChatCompletionContentPart => ({
  type: 'image_url',
  image_url: { url: 'url' in source ? source.url : `data:${source.mediaType};base64,${source.data}` },
})
