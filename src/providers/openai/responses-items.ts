import type {
  ResponseFunctionCallOutputItem,
  ResponseInputContent,
  ResponseInputItem,
} from 'openai/resources/responses/responses'
import type { ImagePart } from '../../core/image-part.ts'
import { canonicalJson } from '../../core/json.ts'
import { type AssistantBody, type InputBody, type MessageBody, textOf } from '../../core/message.ts'
import type { ToolOutcome } from '../../core/tool-call.ts'
import { imageNote } from '../images/image-source.ts'
import { newEncodedMessages } from '../wire/encoded-messages.ts'
import { summaryText } from '../wire/summary-text.ts'
import { withWholeCharacters } from '../wire/whole-characters.ts'
import { wireCallId, wireToolName } from './wire-names.ts'

/** Everything except the body that affects how a message is encoded. */
export type ItemForm = { images: 'all' | 'not-in-results' | 'none'; reasoning: 'replayed' | 'left-out' }

export const responseItems = newEncodedMessages<ItemForm>(
  (body, form) =>
    itemsOf(body, form)
      .map((item) => JSON.stringify(item))
      .join(','),
  ({ images, reasoning }) => `${images}/${reasoning}`,
)

function itemsOf(body: MessageBody, form: ItemForm): ResponseInputItem[] {
  switch (body.role) {
    case 'user':
      return [{ role: 'user', content: inputContent(body, form) }]
    case 'system':
      return [{ role: 'system', content: textOf(body.content) }]
    case 'assistant':
      return answerItems(body, form)
    case 'tool':
      return body.outcomes.map((outcome) => resultItem(outcome, form))
    case 'summary':
      return [{ role: 'user', content: summaryText(body) }]
    case 'approval':
      return []
  }
}

function inputContent({ name, content }: InputBody, form: ItemForm): string | ResponseInputContent[] {
  const by = name === undefined ? '' : `[Message from ${name}]\n`
  if (!content.some((part) => part.type === 'image')) return by + textOf(content)
  const parts = content.map((part): ResponseInputContent => {
    if (part.type === 'text') return { type: 'input_text', text: part.text }
    return form.images === 'none' ? { type: 'input_text', text: NO_IMAGES } : inputImage(part)
  })
  return by === '' ? parts : [{ type: 'input_text', text: by }, ...parts]
}

/** The vendor rejects a reasoning item without a following item, so trailing ones are dropped. */
function answerItems({ content, calls }: AssistantBody, form: ItemForm): ResponseInputItem[] {
  const items: ResponseInputItem[] = []
  let summary = ''
  for (const part of content) {
    switch (part.type) {
      case 'text':
        if (part.text !== '') items.push({ role: 'assistant', content: part.text })
        break
      case 'reasoning':
        summary = part.text
        break
      case 'encrypted-reasoning':
        if (form.reasoning === 'replayed' && part.origin === 'openai-responses')
          items.push(reasoningItem(part.itemId, part.data, summary))
        summary = ''
        break
      case 'redacted-reasoning':
        break
    }
  }
  for (const { callId, tool, input } of calls) {
    const call_id = wireCallId(callId, undefined)
    items.push({
      type: 'function_call',
      call_id,
      name: wireToolName(tool),
      arguments: withWholeCharacters(canonicalJson(input)),
    })
  }
  while (isReasoning(items.at(-1))) items.pop()
  return items
}

const isReasoning = (item: ResponseInputItem | undefined): boolean =>
  item !== undefined && 'type' in item && item.type === 'reasoning'

const reasoningItem = (id: string, encrypted: string, summary: string): ResponseInputItem => ({
  type: 'reasoning',
  id,
  summary: summary === '' ? [] : [{ type: 'summary_text', text: summary }],
  encrypted_content: encrypted,
})

function resultItem({ callId, output, images = [] }: ToolOutcome, form: ItemForm): ResponseInputItem {
  const call_id = wireCallId(callId, undefined)
  if (images.length === 0) return { type: 'function_call_output', call_id, output }
  const note = form.images === 'none' ? NO_IMAGES : NOT_IN_RESULTS
  if (form.images !== 'all')
    return { type: 'function_call_output', call_id, output: [output, ...images.map(() => note)].join('\n') }
  const shown: ResponseFunctionCallOutputItem[] = images.map(inputImage)
  if (output !== '') shown.unshift({ type: 'input_text', text: output })
  return { type: 'function_call_output', call_id, output: shown }
}

const NO_IMAGES = imageNote('images are not sent in this request.')
const NOT_IN_RESULTS = imageNote('only text can be sent in this tool result.')

const inputImage = ({ source }: ImagePart) => ({
  type: 'input_image' as const,
  detail: 'auto' as const,
  image_url: 'url' in source ? source.url : `data:${source.mediaType};base64,${source.data}`,
})
