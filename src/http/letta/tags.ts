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
    after: z.string().optional().describe('The last tag of the page before.'),
    before: z.string().optional().describe('The first tag of the page behind.'),
    order: z.enum(['asc', 'desc']).default('asc').describe('By the alphabet, or against it.'),
    query_text: z.string().optional().describe('Tags that contain this text.'),
    name: z.string().optional().describe('The older spelling of `query_text`.'),
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
