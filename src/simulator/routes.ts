import type { Protocol } from './script.ts'

/** Which protocol a path speaks. Any prefix may stand before it, so that one port can play many providers. */
export const protocolOf = (path: string): Protocol | undefined => ROUTES.find(([pattern]) => pattern.test(path))?.[1]

const ROUTES: [RegExp, Protocol][] = [
  [/\/chat\/completions$/, 'openai-chat'],
  [/\/responses$/, 'openai-responses'],
  [/\/messages$/, 'anthropic'],
  [/\/models\/[^/]+:(streamGenerateContent|generateContent)$/, 'gemini'],
  [/\/embeddings$/, 'embeddings'],
  [/\/models\/[^/]+:batchEmbedContents$/, 'embeddings'],
  [/\/models(\/[^/:]+)?$/, 'models'],
  [/\/oauth\/(account)$/, 'account'],
  [/\/oauth\//, 'oauth'],
  [/\/account$/, 'account'],
  [/\/copilot_internal\/v2\/token$/, 'copilot'],
]
