/** Services that can search the web, in the order in which one with a key is chosen. */
export const SEARCH_ENGINE_NAMES = ['exa', 'tavily', 'brave', 'searxng'] as const
export type SearchEngineName = (typeof SEARCH_ENGINE_NAMES)[number]
