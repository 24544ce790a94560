import type { ImagePart } from '../image-part.ts'
import type { InputPart } from '../message.ts'

/** A call of the caller's own tool in the history that it sends. */
type SentCall = { callId: string; name: string; arguments: string }

/** One message of a request in OpenAI's vocabulary, of either API. `at`: its position in the request. */
export type SentMessage =
  /** For this run only: it goes behind the system prompt of the agent. */
  | { role: 'instruction'; at: number; text: string }
  | { role: 'user'; at: number; content: InputPart[]; name?: string }
  | { role: 'assistant'; at: number; text: string; calls: SentCall[] }
  | { role: 'tool'; at: number; callId: string; output: string; images?: ImagePart[] }
  /** The answer to a call of the agent that waits for approval. */
  | { role: 'approval'; at: number; callId: string; approve: boolean; reason?: string }

/** The messages that answer open calls. */
export const isReply = (message: SentMessage): message is Extract<SentMessage, { role: 'tool' | 'approval' }> =>
  message.role === 'tool' || message.role === 'approval'
