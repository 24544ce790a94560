import { DIALECTS } from '../core/message.ts'
import { SIMULATED_DIALECTS } from './dialects.ts'
import type { Protocol } from './script.ts'

/** The protocol of a path. Any prefix is allowed, so that one port can simulate many providers. */
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
