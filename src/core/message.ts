import type { ConversationId, MessageId, RunId, StepId } from './id.ts'
import type { ImagePart } from './image-part.ts'
import type { Decision, ToolCall, ToolOutcome } from './tool-call.ts'

export type TextPart = { type: 'text'; text: string }
/** The signature proves to the vendor that it wrote the reasoning; it is sent back unchanged, to that vendor only. */
type ReasoningPart = { type: 'reasoning'; text: string; signature?: string; origin?: Dialect }
type RedactedReasoningPart = { type: 'redacted-reasoning'; data: string; origin?: Dialect }
/** Reasoning that only its vendor can decrypt, as a separate item with an id. */
type EncryptedReasoningPart = { type: 'encrypted-reasoning'; itemId: string; data: string; origin: Dialect }

/** The protocols model providers speak over HTTP. */
export const DIALECTS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const

export type HttpDialect = (typeof DIALECTS)[number]

/** The API that produced an answer. Another dialect cannot verify its signatures. */
export type Dialect = HttpDialect | 'ai-sdk'

export type InputPart = TextPart | ImagePart
export type AnswerPart = TextPart | ReasoningPart | RedactedReasoningPart | EncryptedReasoningPart

/** Input of a user or application. It becomes a message together with the first answer that includes it. */
export type Input = {
  messageId: MessageId
  /** `assistant`: text inserted as if the model had written it. */
  role: 'user' | 'system' | 'assistant'
  content: InputPart[]
  otid?: string
  name?: string
}

export type InputBody = { role: 'user' | 'system'; content: InputPart[]; otid?: string; name?: string }
export type AssistantBody = { role: 'assistant'; content: AnswerPart[]; calls: ToolCall[]; cut?: true }
export type ToolBody = { role: 'tool'; outcomes: ToolOutcome[] }
export type ApprovalBody = { role: 'approval'; decisions: Decision[] }
export type SummaryBody = { role: 'summary'; text: string; replaces: { from: number; to: number } }

/** A message as the model and users see it. Immutable once committed. */
export type MessageBody = InputBody | AssistantBody | ToolBody | ApprovalBody | SummaryBody
export type MessageRole = MessageBody['role']

export const summaryBody = ({ text, replaces }: Omit<SummaryBody, 'role'>): SummaryBody => ({
  role: 'summary',
  text,
  replaces,
})

/** The run id of messages without a run: those an agent was created or imported with. */
export const NO_RUN: RunId = 'run-none'

/** A message before the store assigns its position. */
export type NewMessage = { id: MessageId; runId: RunId; stepId?: StepId; body: MessageBody; createdAt: number }
export type Message = NewMessage & { conversationId: ConversationId; position: number }

export const textOf = (parts: readonly (InputPart | AnswerPart)[]): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

/** Joins two parts of one answer; text that was cut in two becomes one text part. */
export function joinContent(before: readonly AnswerPart[], after: readonly AnswerPart[]): AnswerPart[] {
  const last = before.at(-1)
  const first = after[0]
  if (last?.type !== 'text' || first?.type !== 'text') return [...before, ...after]
  return [...before.slice(0, -1), { type: 'text', text: last.text + first.text }, ...after.slice(1)]
}

export function inputBody({ messageId: _, role, ...body }: Input): InputBody | AssistantBody {
  if (role !== 'assistant') return { role, ...body }
  return { role, content: body.content.filter((part) => part.type === 'text'), calls: [] }
}
