import { z } from 'zod'
import { defined } from '../../../core/defined.ts'
import type { Passage } from '../../../core/passage.ts'
import type { searchPassages } from '../../../service/memory/passages.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'
import { always, alwaysNull } from './constant-field.ts'

export const passageSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      text: z.string(),
      tags: z.array(z.string()),
      embedding: alwaysNull,
      embedding_config: alwaysNull,
      metadata: z.object({}).describe('Always {}: kept for clients that read it.'),
      is_deleted: always(false),
      archive_id: z.string().describe('Archive of the agent: every agent has one, named after it.'),
      file_id: alwaysNull,
      file_name: alwaysNull,
      source_id: alwaysNull,
      created_by_id: alwaysNull,
      last_updated_by_id: alwaysNull,
      created_at: dateSchema,
      updated_at: alwaysNull,
    })
    .meta({ id: 'Passage', description: 'A text in the archival memory of an agent, found by searching.' }),
)

type WirePassage = z.output<typeof passageSchema>

export const wirePassage = ({ id, text, tags, createdAt, agentId }: Passage): WirePassage => ({
  id,
  text,
  tags,
  embedding: null,
  embedding_config: null,
  metadata: {},
  is_deleted: false,
  archive_id: `archive-${agentId.slice('agent-'.length)}`,
  file_id: null,
  file_name: null,
  source_id: null,
  created_by_id: null,
  last_updated_by_id: null,
  created_at: wireDate(createdAt),
  updated_at: null,
})

const noticeSchema = z
  .string()
  .optional()
  .describe('Why the search used words only, although an embedding model is configured.')

/** The answer of a search in the passages of one agent. */
export const passageSearchSchema = z.lazy(() =>
  z.object({
    results: z.array(
      z.object({ id: z.string(), content: z.string(), timestamp: dateSchema, tags: z.array(z.string()) }),
    ),
    count: z.int().describe('Number of `results`.'),
    search_mode: z.enum(['fts', 'hybrid']).describe('`fts` searched by words, `hybrid` by words and meaning.'),
    notice: noticeSchema,
  }),
)

type SearchedPassages = Awaited<ReturnType<typeof searchPassages>>

const MODES = { words: 'fts', 'words and meaning': 'hybrid' } as const

export const wirePassageSearch = ({
  found,
  mode,
  fallback,
}: SearchedPassages): z.output<typeof passageSearchSchema> => ({
  results: found.map(({ item: { id, text, createdAt, tags } }) => ({
    id,
    content: text,
    timestamp: wireDate(createdAt),
    tags,
  })),
  count: found.length,
  search_mode: MODES[mode],
  ...defined({ notice: fallback || undefined }),
})

const foundPassageSchema = z.lazy(() =>
  z.object({
    passage: passageSchema,
    score: z.number().describe('How well the passage matches; higher is better.'),
    metadata: z.object({
      fts_rank: z.int().nullable().describe('Rank by words, from 1; null without a rank.'),
      vector_rank: z.int().nullable().describe('Rank by meaning, from 1; null without a rank.'),
      notice: noticeSchema,
    }),
  }),
)

/** The answer of a search in the passages of all agents. */
export const passagesSearchSchema = z.lazy(() =>
  z.array(foundPassageSchema).describe('Passages that match, the best first.'),
)

export const wireFoundPassages = ({ found, fallback }: SearchedPassages): z.output<typeof passagesSearchSchema> =>
  found.map(({ item, score, wordRank, vectorRank }) => ({
    passage: wirePassage(item),
    score,
    metadata: {
      fts_rank: wordRank ?? null,
      vector_rank: vectorRank ?? null,
      ...defined({ notice: fallback || undefined }),
    },
  }))
