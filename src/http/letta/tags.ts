import { z } from 'zod'
import { listTags } from '../../service/agents/agents.ts'
import type { Routes } from '../routes.ts'
import { limit, parsed } from './parse.ts'

const tagQuery = z.object({
  limit: limit(50),
  after: z.string().optional(),
  before: z.string().optional(),
  order: z.enum(['asc', 'desc']).default('asc'),
  query_text: z.string().optional(),
  name: z.string().optional(),
})

export function registerTagRoutes(routes: Routes): void {
  routes.get(
    '/v1/tags',
    async ({ query }, desk) => {
      const { query_text, name, after, before, ...page } = parsed(tagQuery, query, 'query')
      const text = query_text || name
      return listTags(
        { ...page, ...(text ? { text } : {}), ...(after ? { after } : {}), ...(before ? { before } : {}) },
        desk,
      )
    },
    { query: tagQuery },
  )
}
