import type { ConversationId, MessageId, RunId, StepId } from './id.ts'
import type { ImagePart } from './image-part.ts'
import type { Decision, ToolCall, ToolOutcome } from './tool-call.ts'

export type TextPart = { type: 'text'; text: string }
/** The signature proves to the vendor that the thought is its own; it is replayed as it came, to that vendor only. */
type ReasoningPart = { type: 'reasoning'; text: string; signature?: string; origin?: Dialect }
type RedactedReasoningPart = { type: 'redacted-reasoning'; data: string; origin?: Dialect }
/** Thought that only its vendor can read, as an item of its own with an id. */
type EncryptedReasoningPart = { type: 'encrypted-reasoning'; itemId: string; data: string; origin: Dialect }

/** The protocols model providers speak over HTTP. */
export const DIALECTS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const

export type HttpDialect = (typeof DIALECTS)[number]

/** Who produced an answer. What one dialect signed, another cannot read. */
export type Dialect = HttpDialect | 'ai-sdk'

export type InputPart = TextPart | ImagePart
export type AnswerPart = TextPart | ReasoningPart | RedactedReasoningPart | EncryptedReasoningPart

/** What a person or an application says. It becomes a message with the first answer that has read it. */
export type Input = {
  messageId: MessageId
  /** `assistant`: words that are put into the model's mouth, as text. */
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

/** What the model and people see. Immutable once committed. */
export type MessageBody = InputBody | AssistantBody | ToolBody | ApprovalBody | SummaryBody
export type MessageRole = MessageBody['role']

/** The run of messages that none wrote: they were there when their agent was made or imported. */
export const NO_RUN: RunId = 'run-none'

/** A message before the store gave it its position. */
export type NewMessage = { id: MessageId; runId: RunId; stepId?: StepId; body: MessageBody; createdAt: number }
export type Message = NewMessage & { conversationId: ConversationId; position: number }

export const textOf = (parts: readonly (InputPart | AnswerPart)[]): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

/** Two pieces of one answer as one: text that was cut in two is one text again. */
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
