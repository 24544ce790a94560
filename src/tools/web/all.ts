import type { Tool } from '../../ports/tool.ts'
import { fetchWebpage } from './fetch-webpage.ts'
import { webSearch } from './web-search.ts'
import type { WebToolDeps } from './web-tool-deps.ts'

/** Tools that read the web. */
export const webTools = (deps: WebToolDeps): Tool[] => [webSearch(deps), fetchWebpage(deps)]
