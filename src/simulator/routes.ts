import { DIALECTS } from '../core/message.ts'
import { SIMULATED_DIALECTS } from './dialects.ts'
import type { Protocol } from './script.ts'

/** Which protocol a path speaks. Any prefix may stand before it, so that one port can play many providers. */
export const protocolOf = (path: string): Protocol | undefined => ROUTES.find(([pattern]) => pattern.test(path))?.[1]

const ROUTES: [RegExp, Protocol][] = [
  ...DIALECTS.map((protocol): [RegExp, Protocol] => [SIMULATED_DIALECTS[protocol].path, protocol]),
  [/\/embeddings$/, 'embeddings'],
  [/\/models\/[^/]+:batchEmbedContents$/, 'embeddings'],
  [/\/models(\/[^/:]+)?$/, 'models'],
  [/\/oauth\/(account)$/, 'account'],
  [/\/oauth\//, 'oauth'],
  [/\/account$/, 'account'],
  [/\/copilot_internal\/v2\/token$/, 'copilot'],
]
