import type { StoredTool } from '../../core/stored-tool.ts'
import type { ServiceContext } from '../service-context.ts'
import { listTools } from './tools.ts'

type SearchToolsRequest = { query?: string; tags?: string[]; toolTypes?: string[]; limit: number }

/** Best match first; the name weighs more than the description. An empty query matches every tool. */
export async function searchTools(
  { query = '', tags, toolTypes, limit }: SearchToolsRequest,
  context: ServiceContext,
): Promise<StoredTool[]> {
  const words = wordsOf(query)
  const candidates = (await listTools(context)).filter(
    (tool) =>
      (!tags?.length || tool.tags.some((tag) => tags.includes(tag))) &&
      (!toolTypes?.length || toolTypes.includes(tool.toolType)),
  )
  return candidates
    .map((tool) => ({ tool, score: words.length === 0 ? 1 : scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, limit)
    .map(({ tool }) => tool)
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

const NAME_WEIGHT = 3

function scoreOf({ name, description }: StoredTool, words: readonly string[]): number {
  const title = name.toLowerCase()
  const text = description.toLowerCase()
  return words.reduce((sum, word) => sum + (title.includes(word) ? NAME_WEIGHT : 0) + (text.includes(word) ? 1 : 0), 0)
}
