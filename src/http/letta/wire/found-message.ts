import { z } from 'zod'
import type { MessageRole } from '../../../core/message.ts'
import type { FoundMessage } from '../../../service/messages/messages.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

const foundMessageSchema = z.lazy(() =>
  z
    .object({
      message_type: z.enum(['user_message', 'assistant_message', 'system_message']),
      message_id: z.string(),
      content: z.string().describe('Text of the message.'),
      created_at: dateSchema,
      agent_id: z.string(),
      conversation_id: z.string(),
      embedded_text: z.string().describe('The same as `content`.'),
      fts_rank: z.int().nullable().describe('Rank by words, from 1; null without a rank.'),
      vector_rank: z
        .int()
        .nullable()
        .describe('Rank by meaning, from 1; null without a rank, or if the search did not use meaning.'),
      rrf_score: z.number().describe('Both ranks as one score; higher is better.'),
    })
    .meta({ id: 'FoundMessage', description: 'A message that a search found, with its ranks.' }),
)

export const messageSearchSchema = z.lazy(() =>
  z.array(foundMessageSchema).describe('Messages that match, the best first.'),
)

const RESULT_TYPES = {
  user: 'user_message',
  assistant: 'assistant_message',
  system: 'system_message',
  tool: 'assistant_message',
  approval: 'assistant_message',
  summary: 'assistant_message',
} as const satisfies Record<MessageRole, string>

export function resultOf({
  message,
  text,
  wordRank,
  vectorRank,
  score,
}: FoundMessage): z.output<typeof foundMessageSchema> {
  const { id, agentId, conversationId, createdAt, body } = message
  return {
    message_type: RESULT_TYPES[body.role],
    message_id: id,
    content: text,
    created_at: wireDate(createdAt),
    agent_id: agentId,
    conversation_id: conversationId,
    embedded_text: text,
    fts_rank: wordRank ?? null,
    vector_rank: vectorRank ?? null,
    rrf_score: score,
  }
}
