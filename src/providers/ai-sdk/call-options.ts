import type {
  JSONSchema7,
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3TextPart,
  LanguageModelV3ToolResultOutput,
} from '@ai-sdk/provider'
import { defined } from '../../core/defined.ts'
import type { ImagePart } from '../../core/image-part.ts'
import type { AssistantBody, InputBody, MessageBody, ToolBody } from '../../core/message.ts'
import type { RequestAdjustments } from '../../core/request-adjustments.ts'
import type { ResponseFormat } from '../../core/response-format.ts'
import type { ToolOutcome } from '../../core/tool-call.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { imageData, imageNote, imageUrl } from '../images/image-source.ts'
import { relaxedSchema } from '../wire/relaxed-schema.ts'
import { summaryText } from '../wire/summary-text.ts'
import { unseal } from './sealed-metadata.ts'

export function callOptions(request: ModelRequest): LanguageModelV3CallOptions {
  const { system, messages, tools, adjustments = {}, outputCap, mustCall, settings } = request
  const strict = settings?.strictTools && !adjustments.relaxSchemas ? (true as const) : undefined
  const prompt = promptOf(messages, adjustments)
  return {
    prompt: withWholeTexts(system.trim() === '' ? prompt : [{ role: 'system', content: system }, ...prompt]),
    ...defined({
      temperature: settings?.temperature,
      topP: settings?.topP,
      maxOutputTokens: outputCap,
      frequencyPenalty: settings?.frequencyPenalty,
      responseFormat: settings?.responseFormat ? formatOption(settings.responseFormat) : undefined,
      tools:
        tools.length === 0
          ? undefined
          : tools.map(({ name, description, inputSchema }) => ({
              type: 'function' as const,
              name,
              description,
              inputSchema: (adjustments.relaxSchemas ? relaxedSchema(inputSchema) : inputSchema) as JSONSchema7,
              ...defined({ strict }),
            })),
      toolChoice: tools.length === 0 ? undefined : { type: mustCall ? ('required' as const) : ('auto' as const) },
    }),
  }
}

function formatOption(format: ResponseFormat): LanguageModelV3CallOptions['responseFormat'] {
  if (format.type === 'text') return undefined
  if (format.type === 'json') return { type: 'json' }
  const { name, schema, description } = format
  return { type: 'json', name, schema: schema as JSONSchema7, ...defined({ description }) }
}

function promptOf(messages: readonly MessageBody[], adjustments: RequestAdjustments): LanguageModelV3Message[] {
  const prompt: LanguageModelV3Message[] = []
  let answer: AssistantBody | undefined
  for (const body of messages) {
    const message = messageOf(body, { adjustments, answer })
    if (body.role === 'assistant') answer = body
    if (message && message.content.length > 0) prompt.push(message)
  }
  return prompt
}

type PromptContext = { adjustments: RequestAdjustments; answer: AssistantBody | undefined }

function messageOf(body: MessageBody, context: PromptContext): LanguageModelV3Message | undefined {
  switch (body.role) {
    case 'user':
    case 'system':
      return { role: 'user', content: inputContent(body) }
    case 'assistant':
      return answerMessage(body, context.adjustments)
    case 'tool':
      return resultMessage(body, context)
    case 'summary':
      return { role: 'user', content: [{ type: 'text', text: summaryText(body) }] }
    case 'approval':
      return undefined
  }
}

type UserContent = LanguageModelV3TextPart | LanguageModelV3FilePart

/** Most providers reject a system message in mid-conversation, so it is sent as a tagged user message. */
function inputContent({ role, name, content }: InputBody): UserContent[] {
  const parts = content.flatMap((part): UserContent[] => {
    if (part.type === 'image') return [filePart(part)]
    return textParts(role === 'system' ? `<system>\n${part.text}\n</system>` : part.text)
  })
  return name && parts.length > 0 ? [{ type: 'text', text: `[Message from ${name}]` }, ...parts] : parts
}

type AnswerMessage = Extract<LanguageModelV3Message, { role: 'assistant' }>

function answerMessage({ content, calls }: AssistantBody, adjustments: RequestAdjustments): AnswerMessage {
  const parts: AnswerMessage['content'] = []
  for (const part of content) {
    if (part.type === 'text') parts.push(...textParts(part.text))
    if (part.type !== 'reasoning' || adjustments.stripSignatures || part.origin !== 'ai-sdk') continue
    const last = parts.at(-1)
    const ofText = unseal('text', part.signature)
    if (ofText && last?.type === 'text') last.providerOptions = ofText
    const ofThought = unseal('reasoning', part.signature)
    if (ofThought) parts.push({ type: 'reasoning', text: part.text, providerOptions: ofThought })
  }
  for (const { callId, tool, input, signature } of calls) {
    const providerOptions = adjustments.stripSignatures ? undefined : unseal('call', signature)
    parts.push({
      type: 'tool-call',
      toolCallId: callId,
      toolName: tool,
      input,
      ...defined({ providerOptions }),
    })
  }
  return { role: 'assistant', content: parts }
}

function resultMessage({ outcomes }: ToolBody, { adjustments, answer }: PromptContext): LanguageModelV3Message {
  return {
    role: 'tool',
    content: outcomes.map((outcome, index) => ({
      type: 'tool-result',
      toolCallId: outcome.callId,
      toolName: answer?.calls[index]?.tool ?? 'unknown_tool',
      output: resultOutput(outcome, adjustments),
    })),
  }
}

type ResultContent = Extract<LanguageModelV3ToolResultOutput, { type: 'content' }>['value'][number]

function resultOutput(
  { status, output, images = [] }: ToolOutcome,
  adjustments: RequestAdjustments,
): LanguageModelV3ToolResultOutput {
  const isError = status !== 'success'
  if (images.length === 0) return { type: isError ? 'error-text' : 'text', value: output }
  if (isError || adjustments.textOnlyResults) {
    const notes = images.map(() => imageNote('only text can be sent in this tool result.'))
    return { type: isError ? 'error-text' : 'text', value: [output, ...notes].join('\n') }
  }
  return { type: 'content', value: [...textParts(output), ...images.map(resultImage)] }
}

function resultImage(image: ImagePart): ResultContent {
  const url = imageUrl(image)
  if (url) return { type: 'image-url', url }
  const data = imageData(image)
  return data
    ? { type: 'image-data', ...data }
    : { type: 'text', text: imageNote('it has neither bytes nor an address.') }
}

function filePart(image: ImagePart): UserContent {
  const url = imageUrl(image)
  if (url && URL.canParse(url)) return { type: 'file', mediaType: 'image/*', data: new URL(url) }
  const data = imageData(image)
  return data
    ? { type: 'file', mediaType: data.mediaType, data: data.data }
    : { type: 'text', text: imageNote('it has neither bytes nor an address.') }
}

const textParts = (text: string): { type: 'text'; text: string }[] =>
  text.trim() === '' ? [] : [{ type: 'text', text }]

/** Replaces lone surrogates, which make a provider reject the request as invalid JSON. Bytes and URLs do not change. */
function withWholeTexts<T>(value: T): T {
  if (typeof value === 'string') return value.toWellFormed() as T
  if (Array.isArray(value)) return value.map(withWholeTexts) as T
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), withWholeTexts(item)])) as T
}
