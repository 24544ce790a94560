import { sql } from 'kysely'
import type { AgentId, ConversationId, OrganizationId } from '../../core/id.ts'
import type { PromptInputs, PromptStore } from '../../ports/prompt-store.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { blocksInConversation } from '../memory/own-blocks.ts'
import { type AgentRow, agentOf } from '../rows/agent-row.ts'
import { type ConversationRow, conversationOf } from '../rows/conversation-row.ts'

/** Maximum number of tags named in a prompt. */
const TAGS_NAMED = 100

export function promptStore({ readSnapshot, write }: Database): PromptStore {
  return {
    keep: (organization, id, text) =>
      write({
        key: id,
        async work(db) {
          await db.run(keep, { organization, id, text })
          return (await db.get(storedPrompt, { organization, id }))?.system_prompt ?? text
        },
        findCommitted: async (db) => (await db.get(storedPrompt, { organization, id }))?.system_prompt ?? undefined,
      }),

    replace: (organization, id, text) =>
      write({
        key: id,
        work: async (db) => void (await db.run(replace, { organization, id, text })),
        findCommitted: async () => undefined,
      }),

    blocks: (organization, id) =>
      readSnapshot(async (db) => {
        const row = await db.get(conversationAt, { organization, id })
        return row ? blocksInConversation(db, row) : []
      }),

    open: (organization, id) =>
      readSnapshot(async (db) => {
        const row = await db.get(conversationAt, { organization, id })
        const agent = row && (await db.get(agentAt, { id: row.agent_id }))
        if (!row || !agent) return undefined
        const system = row.system_prompt ?? (await readPromptInputs(agent, row, db))
        return { agent: agentOf(agent), conversation: conversationOf(row), system }
      }),

    inputs: (organization, id) =>
      readSnapshot(async (db) => {
        const row = await db.get(conversationAt, { organization, id })
        const agent = row && (await db.get(agentAt, { id: row.agent_id }))
        return row && agent && readPromptInputs(agent, row, db)
      }),
  }
}

async function readPromptInputs(agent: AgentRow, row: ConversationRow, db: Executor): Promise<PromptInputs> {
  const blocks = await blocksInConversation(db, row)
  const tags = await db.all(passageTags, { agent: agent.id })
  const counted = await db.get(passageCount, { agent: agent.id })
  return {
    agent: agentOf(agent),
    conversation: conversationOf(row),
    blocks,
    passageCount: Number(counted?.count ?? 0),
    passageTags: [...new Set(tags.flatMap((one) => JSON.parse(one.tags) as string[]))].sort().slice(0, TAGS_NAMED),
  }
}

export async function keepPrompt(
  db: Executor,
  { organizationId, id }: { organizationId: OrganizationId; id: ConversationId },
  text: string,
): Promise<void> {
  await db.run(keep, { organization: organizationId, id, text })
}

const storedPrompt = statement<{ organization: OrganizationId; id: ConversationId }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select('system_prompt')
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const keep = statement<{ organization: OrganizationId; id: ConversationId; text: string }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ system_prompt: p('text') })
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('system_prompt', 'is', null),
)

const replace = statement<{ organization: OrganizationId; id: ConversationId; text: string }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ system_prompt: p('text') })
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const conversationAt = statement<{ organization: OrganizationId; id: ConversationId }>()((db, p) =>
  db.selectFrom('conversations').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const agentAt = statement<{ id: AgentId }>()((db, p) => db.selectFrom('agents').selectAll().where('id', '=', p('id')))

const passageCount = statement<{ agent: AgentId }>()((db, p) =>
  db
    .selectFrom('passages')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('agent_id', '=', p('agent')),
)

const passageTags = statement<{ agent: AgentId }>()((db, p) =>
  db
    .selectFrom('passages')
    .select('tags')
    .distinct()
    .where('agent_id', '=', p('agent'))
    .where('tags', '!=', sql.lit('[]')),
)
