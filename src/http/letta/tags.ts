import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { listTags } from '../../service/agents/agents.ts'
import { limit } from '../field.ts'
import { operation } from '../operation.ts'

const listTagsOperation = operation({
  route: 'GET /v1/tags',
  scope: 'read',
  summary: 'Lists the tags of agents',
  query: z.object({
    limit: limit(50),
    after: z.string().optional().describe('Cursor: last tag of the previous page.'),
    before: z.string().optional().describe('Cursor: first tag of the next page.'),
    order: z.enum(['asc', 'desc']).default('asc').describe('Alphabetical order, ascending or descending.'),
    query_text: z.string().optional().describe('Tags that contain this text.'),
    name: z.string().optional().describe('Older form of `query_text`.'),
  }),
  answer: z.array(z.string()),
  handle({ query: { query_text, name, after, before, ...page } }, context) {
    const text = query_text || name
    return listTags(
      { ...page, ...defined({ text: text || undefined, after: after || undefined, before: before || undefined }) },
      context,
    )
  },
})

export const tagOperations = [listTagsOperation]
