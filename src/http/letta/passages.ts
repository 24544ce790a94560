import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { deletePassage, insertPassage, listPassages, searchPassages } from '../../service/memory/passages.ts'
import { date, flag, id, limit, listOf } from '../field.ts'
import { operation } from '../operation.ts'
import { listQuery, pageOf } from '../paging.ts'
import { agentPath, requireAgent, requireAgentNamed } from './path-params.ts'
import { deletedSchema } from './wire/deleted.ts'
import {
  passageSchema,
  passageSearchSchema,
  passagesSearchSchema,
  wireFoundPassages,
  wirePassage,
  wirePassageSearch,
} from './wire/passage.ts'

/** Timeout for embedding a query; after it the search uses words only. */
export const EMBED_WAIT_MS = 5_000

const tags = z.array(z.string().min(1)).max(16)
const moment = date.transform((text) => Date.parse(text))

const createPassage = operation({
  route: 'POST /v1/agents/:agent_id/archival-memory',
  scope: 'agent',
  summary: 'Adds a passage to the archival memory of an agent',
  audit: 'none',
  params: agentPath,
  body: z.object({
    text: z.string().min(1).describe('Text of the passage.'),
    tags: tags.nullish().describe('Tags to find the passage by.'),
    created_at: moment.nullish().describe('When it happened. Default: now.'),
  }),
  example: { text: 'Ada likes tea.', tags: ['ada'] },
  answer: z.array(passageSchema),
  async handle({ params, body }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const { text, tags: passageTags, created_at: createdAt } = body
    const passage = { agent, text, ...defined({ tags: passageTags ?? undefined, createdAt: createdAt || undefined }) }
    return [wirePassage(await insertPassage(passage, context))]
  },
})

const listPassagesOperation = operation({
  route: 'GET /v1/agents/:agent_id/archival-memory',
  scope: 'read',
  summary: 'Lists the passages of an agent',
  params: agentPath,
  query: listQuery(100).extend({
    search: z.string().optional().describe('Passages that contain this text.'),
    ascending: flag.default(true).describe('Whether the oldest passages come first; `order` takes precedence.'),
  }),
  answer: z.array(passageSchema),
  async handle({ params, query }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const page = { ...pageOf(query), ...defined({ text: query.search || undefined }) }
    return (await listPassages(agent, page, context)).map(wirePassage)
  },
})

const searchAgentPassages = operation({
  route: 'GET /v1/agents/:agent_id/archival-memory/search',
  scope: 'read',
  summary: 'Searches the passages of an agent',
  params: agentPath,
  query: z.object({
    query: z.string().describe('Text to search for, by words or by meaning.'),
    tags: listOf(z.string().min(1), 16).optional().describe('Passages with these tags only.'),
    tag_match_mode: z
      .enum(['any', 'all'])
      .optional()
      .describe('Whether a passage needs `any` or `all` of the tags. Default: `any`.'),
    top_k: limit(10, 100).describe('Maximum number of results.'),
    start_datetime: moment.optional().describe('Passages from this time on.'),
    end_datetime: moment.optional().describe('Passages up to this time.'),
  }),
  answer: passageSearchSchema,
  async handle({ params, query }, context) {
    const agent = await requireAgent(params.agent_id, context)
    const search = {
      signal: AbortSignal.timeout(EMBED_WAIT_MS),
      text: query.query,
      limit: query.top_k,
      tagMatch: query.tag_match_mode ?? 'any',
      ...defined({ tags: query.tags, from: query.start_datetime, to: query.end_datetime }),
    }
    return wirePassageSearch(await searchPassages(agent, search, context))
  },
})

const searchAllPassages = operation({
  route: 'POST /v1/passages/search',
  scope: 'read',
  summary: 'Searches the passages of all agents',
  body: z.object({
    query: z.string().nullish().describe('Text to search for, by words or by meaning.'),
    agent_id: z.string().nullish().describe('Passages of this agent only.'),
    archive_id: z.string().nullish().describe('Id of the archive of an agent: `archive-` and the UUID of the agent.'),
    tags: tags.nullish().describe('Passages with these tags only.'),
    tag_match_mode: z
      .enum(['any', 'all'])
      .nullish()
      .describe('Whether a passage needs `any` or `all` of the tags. Default: `any`.'),
    limit: z.int().min(1).max(100).nullish().describe('Maximum number of results. Default: 50.'),
    start_date: moment.nullish().describe('Passages from this time on.'),
    end_date: moment.nullish().describe('Passages up to this time.'),
  }),
  example: { query: 'tea' },
  answer: passagesSearchSchema,
  async handle({ body }, context) {
    const agentId = body.agent_id ?? body.archive_id?.replace(/^archive-/, 'agent-')
    const agent = agentId ? await requireAgentNamed(agentId, context) : undefined
    const result = await searchPassages(
      agent,
      {
        signal: AbortSignal.timeout(EMBED_WAIT_MS),
        text: body.query ?? '',
        limit: body.limit ?? 50,
        tagMatch: body.tag_match_mode ?? 'any',
        ...defined({
          tags: body.tags ?? undefined,
          from: body.start_date || undefined,
          to: body.end_date || undefined,
        }),
      },
      context,
    )
    return wireFoundPassages(result)
  },
})

const removePassage = operation({
  route: 'DELETE /v1/agents/:agent_id/archival-memory/:memory_id',
  scope: 'agent',
  summary: 'Deletes a passage',
  params: { ...agentPath, memory_id: id('passage').describe('The id of a passage.') },
  answer: deletedSchema,
  async handle({ params }, context) {
    await deletePassage(await requireAgent(params.agent_id, context), params.memory_id, context)
    return { message: `Memory id=${params.memory_id} successfully deleted` }
  },
})

export const passageOperations = [
  createPassage,
  listPassagesOperation,
  searchAgentPassages,
  searchAllPassages,
  removePassage,
]
