import { sql } from 'kysely'
import type { ConversationId, OrganizationId } from '../../core/id.ts'
import type { ModelUsage } from '../../ports/model-usage.ts'
import { type Executor, statement } from '../database/statement.ts'

/** Tokens of the steps of a conversation, by model. */
export async function usageOfConversation(
  db: Executor,
  organizationId: OrganizationId,
  conversationId: ConversationId,
): Promise<ModelUsage[]> {
  return usageOf(await db.all(byModel, { organization: organizationId, conversation: conversationId }))
}

type UsageRow = Record<'prompt' | 'largest' | 'completion' | 'cached' | 'written' | 'reasoning', number> & {
  target: string
}

export const usageOf = (rows: readonly UsageRow[]): ModelUsage[] =>
  rows.map(({ target, prompt, largest, completion, cached, written, reasoning }) => ({
    target,
    largestPrompt: Number(largest),
    usage: {
      promptTokens: Number(prompt),
      completionTokens: Number(completion),
      cachedTokens: Number(cached),
      cacheWriteTokens: Number(written),
      reasoningTokens: Number(reasoning),
    },
  }))

const sum = (column: string) => sql<number>`coalesce(sum(${sql.ref(column)}), 0)`

/** For a query that groups steps by their model. */
export const USAGE_COLUMNS = [
  'steps.model_handle as target',
  sum('steps.prompt_tokens').as('prompt'),
  sql<number>`coalesce(max(${sql.ref('steps.prompt_tokens')}), 0)`.as('largest'),
  sum('steps.completion_tokens').as('completion'),
  sum('steps.cached_input_tokens').as('cached'),
  sum('steps.cache_write_tokens').as('written'),
  sum('steps.reasoning_tokens').as('reasoning'),
] as const

const byModel = statement<{ organization: OrganizationId; conversation: ConversationId }>()((db, p) =>
  db
    .selectFrom('steps')
    .innerJoin('runs', 'runs.number', 'steps.run_number')
    .select(USAGE_COLUMNS)
    .where('runs.conversation_id', '=', p('conversation'))
    .where('runs.organization_id', '=', p('organization'))
    .groupBy('steps.model_handle')
    .orderBy('steps.model_handle'),
)
