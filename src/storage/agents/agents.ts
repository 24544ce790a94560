import type { Agent } from '../../core/agent.ts'
import type { AgentId, ConversationId, OrganizationId } from '../../core/id.ts'
import { NO_RUN } from '../../core/message.ts'
import type { AgentStore, NewAgent } from '../../ports/store.ts'
import { insertConversation } from '../conversations/conversations.ts'
import { insertMessages } from '../conversations/messages.ts'
import { keepPrompt } from '../conversations/prompts.ts'
import type { Database } from '../database/database.ts'
import { insertInto, rowById, updateById } from '../database/row-statements.ts'
import { sealedSecrets } from '../database/sealed-secrets.ts'
import { type Executor, statement } from '../database/statement.ts'
import { attachBlocks } from '../memory/agent-blocks.ts'
import { insertBlock } from '../memory/blocks.ts'
import { insertPassage } from '../memory/passages.ts'
import { invalidatePrompts } from '../memory/stale-prompts.ts'
import { AGENT_COLUMNS, agentOf, agentRowOf } from '../rows/agent-row.ts'
import type { ChangedRun } from '../rows/run-row.ts'
import { upsertTool } from '../tools/tools.ts'
import { deleteAgent } from './agent-deletion.ts'
import { countAgents, searchAgents } from './agent-list.ts'
import { setTags } from './agent-tags.ts'

export function agentStore(database: Database): AgentStore {
  const { read, write } = database
  return {
    create: (agent, defaultConversation, contents = {}) =>
      write({
        key: agent.id,
        async work(db) {
          await insertAgent(db, { agent, conversationId: defaultConversation, contents })
          return true
        },
        findCommitted: async (db) => ((await db.get(byId.plain, idOf(agent))) ? true : undefined),
      }).then(() => undefined),

    createAll: (agents) =>
      write({
        key: agents[0]?.agent.id ?? '',
        async work(db) {
          for (const one of agents) await insertAgent(db, one)
          return true
        },
        findCommitted: async (db) =>
          !agents[0] || (await db.get(byId.plain, idOf(agents[0].agent))) ? true : undefined,
      }).then(() => undefined),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, idOf({ organizationId, id }))
        return row && agentOf(row)
      }),

    list: (organizationId, { limit, before }) =>
      read(async (db) => {
        const rows = await db.all(page, { organization: organizationId, limit, ...beforeOf(before) })
        return rows.map(agentOf)
      }),

    search: (organizationId, filter, wanted) =>
      read((db) => searchAgents(db, { organizationId, filter, page: wanted })),
    count: (organizationId) => read((db) => countAgents(db, organizationId)),

    update: (organizationId, id, { edit, tags, blockIds, recompiles }) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, idOf({ organizationId, id }))
          if (!row) return undefined
          const before = agentOf(row)
          const agent = edit?.(before) ?? before
          await db.run(update, agentRowOf(agent))
          if (tags) await setTags(db, agent, tags)
          if (blockIds) await attachBlocks(db, agent, blockIds)
          if (recompiles) await invalidatePrompts(db, id)
          return agent
        },
      }),

    ...sealedSecrets<AgentId>('agents', database),

    delete: (organizationId, id) => write({ key: id, work: (db) => deleteAgent(db, { organizationId, id }) }),
  }
}

/** Inserts the agent with its default conversation and contents. */
async function insertAgent(db: Executor, { agent, conversationId, contents }: NewAgent): Promise<void> {
  const { id, organizationId, createdAt } = agent
  const { newTools = [], newBlocks = [], newPassages = [], messages = [], contextStart = 0 } = contents
  for (const tool of newTools) await upsertTool(db, tool)
  await db.run(insert, agentRowOf(agent))
  const conversation = { id: conversationId, organizationId, agentId: id, isDefault: true }
  await insertConversation(db, { ...conversation, createdAt, contextStart, nextPosition: 0 })
  for (const block of newBlocks) await insertBlock(db, { ...block, madeFor: agent.id })
  await attachBlocks(db, agent, contents.blockIds ?? [])
  await setTags(db, agent, contents.tags ?? [])
  if (messages.length > 0) await insertMessages(db, beforeAnyRun(agent, conversationId), messages)
  for (const passage of newPassages) await insertPassage(db, passage)
  if (contents.prompt !== undefined) await keepPrompt(db, { organizationId, id: conversationId }, contents.prompt)
}

export const insertAgentRow = (db: Executor, agent: Agent) => db.run(insert, agentRowOf(agent))

/** Imported messages belong to no run. */
const beforeAnyRun = ({ organizationId, id }: Agent, conversationId: ConversationId): ChangedRun => ({
  number: 0,
  id: NO_RUN,
  organization_id: organizationId,
  agent_id: id,
  conversation_id: conversationId,
})

const idOf = ({ organizationId, id }: { organizationId: OrganizationId; id: AgentId }) => ({
  organization: organizationId,
  id,
})

/** Without `before`, the page starts at the newest agent; an unknown id gives an empty page. */
const beforeOf = (before: string | undefined) => ({
  isFirst: before === undefined ? 1 : 0,
  before: (before ?? '') as AgentId,
})

const insert = insertInto('agents', AGENT_COLUMNS)

const update = updateById('agents', AGENT_COLUMNS)

const byId = rowById('agents')

/** The oldest agent with the name wins, so that a newer one does not take the name over. */
const page = statement<{ organization: OrganizationId; isFirst: number; before: AgentId; limit: number }>()((db, p) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('organization_id', '=', p('organization'))
    .where((where) =>
      where.or([
        where(where.cast(where.val(p('isFirst')), 'integer'), '=', 1),
        where(
          'number',
          '<',
          where
            .selectFrom('agents as last')
            .select('last.number')
            .where('last.id', '=', p('before'))
            .where('last.organization_id', '=', p('organization')),
        ),
      ]),
    )
    .orderBy('number', 'desc')
    .limit(p('limit')),
)
