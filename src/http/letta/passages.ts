import { z } from 'zod'
import type { Passage } from '../../core/passage.ts'
import { deletePassage, insertPassage, listPassages, searchPassages } from '../../service/memory/passages.ts'
import type { Routes } from '../routes.ts'
import { listQuery, pageOf } from './list-query.ts'
import { flag, idIn, limit, parsed, requireAgent, texts } from './parse.ts'
import { wireDate } from './wire/message.ts'

const PASSAGES = '/v1/agents/:agent_id/archival-memory'

/** Whoever would embed the question has this long; then the words alone count. */
export const PATIENCE_MS = 5_000
const MODES = { words: 'fts', 'words and meaning': 'hybrid' }

const tags = z.array(z.string().min(1)).max(16)
const moment = z
  .string()
  .refine((text) => !Number.isNaN(Date.parse(text)), 'must be a time in ISO 8601')
  .transform((text) => Date.parse(text))

const newPassageBody = z.object({ text: z.string().min(1), tags: tags.nullish(), created_at: moment.nullish() })

const searchQuery = z.object({
  query: z.string(),
  tags: texts.pipe(tags).optional(),
  tag_match_mode: z.enum(['any', 'all']).optional(),
  top_k: limit(10, 100),
  start_datetime: moment.optional(),
  end_datetime: moment.optional(),
})

/** Of all agents, or of one; an archive is that of its agent. */
const searchAllBody = z.object({
  query: z.string().nullish(),
  agent_id: z.string().nullish(),
  archive_id: z.string().nullish(),
  tags: tags.nullish(),
  tag_match_mode: z.enum(['any', 'all']).nullish(),
  limit: z.int().min(1).max(100).nullish(),
  start_date: moment.nullish(),
  end_date: moment.nullish(),
})

export function registerPassageRoutes(routes: Routes): void {
  routes.post(
    PASSAGES,
    async ({ params, body }, desk) => {
      const agent = await requireAgent(params, desk)
      const { text, tags: said, created_at } = parsed(newPassageBody, body, 'body')
      const wish = { agent, text, ...(said ? { tags: said } : {}), ...(created_at ? { createdAt: created_at } : {}) }
      return [wirePassage(await insertPassage(wish, desk))]
    },
    { body: newPassageBody },
  )

  routes.get(PASSAGES, async ({ params, query }, desk) => {
    const agent = await requireAgent(params, desk)
    const asked = parsed(
      listQuery(100).extend({ search: z.string().optional(), ascending: flag.default(true) }),
      query,
      'query',
    )
    const page = { ...pageOf(asked), ...(asked.search ? { text: asked.search } : {}) }
    return (await listPassages(agent, page, desk)).map(wirePassage)
  })

  routes.get(
    `${PASSAGES}/search`,
    async ({ params, query }, desk) => {
      const agent = await requireAgent(params, desk)
      const asked = parsed(searchQuery, query, 'query')
      const { found, mode, fallback } = await searchPassages(
        agent,
        {
          signal: AbortSignal.timeout(PATIENCE_MS),
          ...{ text: asked.query, limit: asked.top_k, tagMatch: asked.tag_match_mode ?? 'any' },
          ...(asked.tags ? { tags: asked.tags } : {}),
          ...(asked.start_datetime === undefined ? {} : { from: asked.start_datetime }),
          ...(asked.end_datetime === undefined ? {} : { to: asked.end_datetime }),
        },
        desk,
      )
      const results = found.map(({ item: { id, text, createdAt, tags: said } }) => ({
        ...{ id, content: text, timestamp: wireDate(createdAt), tags: said },
      }))
      return { results, count: results.length, search_mode: MODES[mode], ...(fallback ? { notice: fallback } : {}) }
    },
    { query: searchQuery },
  )

  routes.post(
    '/v1/passages/search',
    async ({ body }, desk) => {
      const asked = parsed(searchAllBody, body, 'body')
      const agentId = asked.agent_id ?? asked.archive_id?.replace(/^archive-/, 'agent-')
      const agent = agentId ? await requireAgent({ agent_id: agentId }, desk) : undefined
      const { found, fallback } = await searchPassages(
        agent,
        {
          signal: AbortSignal.timeout(PATIENCE_MS),
          ...{ text: asked.query ?? '', limit: asked.limit ?? 50, tagMatch: asked.tag_match_mode ?? 'any' },
          ...(asked.tags ? { tags: asked.tags } : {}),
          ...(asked.start_date ? { from: asked.start_date } : {}),
          ...(asked.end_date ? { to: asked.end_date } : {}),
        },
        desk,
      )
      return found.map(({ item, score, wordRank, vectorRank }) => ({
        ...{ passage: wirePassage(item), score },
        metadata: {
          ...{ fts_rank: wordRank ?? null, vector_rank: vectorRank ?? null },
          ...(fallback ? { notice: fallback } : {}),
        },
      }))
    },
    { body: searchAllBody },
  )

  routes.delete(`${PASSAGES}/:memory_id`, async ({ params }, desk) => {
    const agent = await requireAgent(params, desk)
    const id = idIn.passage(params)
    await deletePassage(agent, id, desk)
    return { message: `Memory id=${id} successfully deleted` }
  })
}

const wirePassage = ({ id, text, tags: said, createdAt, agentId }: Passage) => ({
  ...{ id, text, tags: said, embedding: null, embedding_config: null, metadata: {}, is_deleted: false },
  // An agent has one archive, which is made with it.
  archive_id: `archive-${agentId.slice('agent-'.length)}`,
  ...{ file_id: null, file_name: null, source_id: null, created_by_id: null, last_updated_by_id: null },
  ...{ created_at: wireDate(createdAt), updated_at: null },
})
