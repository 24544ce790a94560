import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Passage } from '../../core/passage.ts'
import type { Desk } from '../../service/desk.ts'
import { deletePassage, insertPassage, listPassages, searchPassages } from '../../service/passages.ts'
import { listQuery, pageOf } from './list-query.ts'
import { flag, idIn, limit, parsed, requireAgent, texts } from './parse.ts'
import { wireDate } from './wire-message.ts'

const PASSAGES = '/v1/agents/:agent_id/archival-memory'

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

export function registerPassageRoutes(server: FastifyInstance, desk: Desk): void {
  server.post(PASSAGES, async ({ params, body }) => {
    const agent = await requireAgent(params, desk)
    const { text, tags: said, created_at } = parsed(newPassageBody, body, 'body')
    const wish = { agent, text, ...(said ? { tags: said } : {}), ...(created_at ? { createdAt: created_at } : {}) }
    return [wirePassage(await insertPassage(wish, desk))]
  })

  server.get(PASSAGES, async ({ params, query }) => {
    const agent = await requireAgent(params, desk)
    const asked = parsed(
      listQuery(100).extend({ search: z.string().optional(), ascending: flag.default(true) }),
      query,
      'query',
    )
    const page = { ...pageOf(asked), ...(asked.search ? { text: asked.search } : {}) }
    return (await listPassages(agent, page, desk)).map(wirePassage)
  })

  server.get(`${PASSAGES}/search`, async ({ params, query }) => {
    const agent = await requireAgent(params, desk)
    const asked = parsed(searchQuery, query, 'query')
    const found = await searchPassages(
      agent,
      {
        ...{ text: asked.query, limit: asked.top_k, tagMatch: asked.tag_match_mode ?? 'any' },
        ...(asked.tags ? { tags: asked.tags } : {}),
        ...(asked.start_datetime === undefined ? {} : { from: asked.start_datetime }),
        ...(asked.end_datetime === undefined ? {} : { to: asked.end_datetime }),
      },
      desk,
    )
    const results = found.map((one) => ({
      id: one.id,
      content: one.text,
      timestamp: wireDate(one.createdAt),
      tags: one.tags,
    }))
    return { results, count: results.length }
  })

  server.delete(`${PASSAGES}/:memory_id`, async ({ params }) => {
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
