import { cleanText } from '../../../core/block.ts'
import { defined } from '../../../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../../core/id.ts'
import type { PassageQuery } from '../../../core/passage.ts'
import type { Tool } from '../../../ports/tool.ts'
import { defineTool, failure, success } from '../../define-tool.ts'
import type { MemoryToolDeps } from './memory-tool-deps.ts'
import { parseTime } from './parse-time.ts'

const TAGS = { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: 16 }
const DEFAULT_RESULTS = 10

type ArchivalSearchInput = {
  query: string
  tags?: string[] | null
  tag_match_mode?: 'any' | 'all' | null
  top_k?: number | null
  start_datetime?: string | null
  end_datetime?: string | null
}

/** Tools for passages: memory that is too large for the prompt and is found by searching. */
export const archivalTools = ({ store, randomness, findPassages }: MemoryToolDeps): Tool[] => [
  defineTool<{ content: string; tags?: string[] | null }>({
    name: 'archival_memory_insert',
    description: 'Stores a text in your archival memory, where a search can find it.',
    inputSchema: {
      type: 'object',
      properties: {
        content: { type: 'string', minLength: 1, description: 'The text to store. It must make sense on its own.' },
        tags: { ...TAGS, type: ['array', 'null'], description: 'Tags for later searches.' },
      },
      required: ['content'],
    },
    effects: 'none',
    run: async ({ content, tags }) => ({
      status: 'success',
      output: 'Stored in archival memory.',
      writes: [
        {
          type: 'insert-passage',
          passageId: `passage-${randomness.uuid()}`,
          text: cleanText(content),
          tags: [...new Set((tags ?? []).map(cleanText))],
        },
      ],
    }),
  }),
  defineTool<ArchivalSearchInput>({
    name: 'archival_memory_search',
    description: 'Searches your archival memory by words and meaning, tags and time.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to look for.' },
        tags: { ...TAGS, type: ['array', 'null'], description: 'Return only passages with these tags.' },
        tag_match_mode: {
          enum: ['any', 'all', null],
          description: 'any (default): passages with at least one of the tags; all: passages with every tag.',
        },
        top_k: { type: ['integer', 'null'], minimum: 1, maximum: 100, description: 'Maximum number of results.' },
        start_datetime: { type: ['string', 'null'], description: 'Earliest time, as ISO 8601.' },
        end_datetime: { type: ['string', 'null'], description: 'Latest time, as ISO 8601.' },
      },
      required: ['query'],
    },
    effects: 'none',
    parallel: true,
    run: async (input, { organizationId = DEFAULT_ORGANIZATION, agentId, signal }) => {
      const from = parseTime(input.start_datetime, 'start')
      const to = parseTime(input.end_datetime, 'end')
      if (from === 'unreadable' || to === 'unreadable')
        return failure('start_datetime and end_datetime must be ISO 8601, for example 2026-03-01 or 2026-03-01T12:00.')
      const query: PassageQuery = {
        text: input.query,
        tags: input.tags ?? [],
        tagMatch: input.tag_match_mode ?? 'any',
        limit: input.top_k ?? DEFAULT_RESULTS,
        ...defined({ from, to }),
      }
      const answer = await findPassages?.({ organizationId, agentId, query, signal })
      const found = answer
        ? answer.found.map(({ item }) => item)
        : await store.passages.search(organizationId, agentId, query)
      if (found.length === 0) return success('Nothing was found.')
      const results = found.map(({ text, tags, createdAt }) => ({
        timestamp: new Date(createdAt).toISOString(),
        content: text,
        tags,
      }))
      const notice = answer?.fallback ? `\n(Searched by words alone: ${answer.fallback})` : ''
      return success(JSON.stringify(results, null, 1) + notice)
    },
  }),
]
