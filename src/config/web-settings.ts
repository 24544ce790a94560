import { SEARCH_ENGINE_NAMES } from '../core/search-engine.ts'
import { setting } from './setting.ts'
import { hostAndPort, httpUrl, listOf, oneOf } from './setting-kinds.ts'

/** `web` of config.yaml. */
export const WEB = {
  search: setting(oneOf(SEARCH_ENGINE_NAMES), {
    description: 'The service that `web_search` asks; its key is a secret of the agent or in the environment',
    defaultText: 'the first one with a key, or SearXNG if it has an address',
  }),
  search_url: setting(httpUrl, {
    description: 'The address of that service',
    defaultText: "the service's; SearXNG has none",
  }),
  private_hosts: setting(listOf(hostAndPort), {
    description: 'Hosts outside the public internet whose pages `fetch_webpage` may read',
    default: [],
    defaultText: 'none',
  }),
}
