import type { ModelFacts } from '../ports/model.ts'

// As of 2026-06-30; windows change without notice. Prices are in model-prices.ts.

const facts = (window: number, maxOutput?: number): ModelFacts =>
  maxOutput === undefined ? { window } : { window, maxOutput }

/** Matched by the start of the model's name, first match wins; a vendor prefix (`openai/gpt-5`) is ignored. */
const ROWS: readonly [prefix: string, facts: ModelFacts][] = [
  ['gpt-5', facts(400_000, 128_000)],
  ['gpt-4.1', facts(1_047_576, 32_768)],
  ['gpt-4o', facts(128_000, 16_384)],
  ['o4-mini', facts(200_000, 100_000)],
  ['o3', facts(200_000, 100_000)],
  ['claude-opus-4', facts(200_000, 32_000)],
  ['claude-sonnet-4', facts(200_000, 64_000)],
  ['claude-haiku-4', facts(200_000, 64_000)],
  ['gemini-2.5-pro', facts(1_048_576, 65_536)],
  ['gemini-2.5-flash', facts(1_048_576, 65_536)],
  ['deepseek-chat', facts(128_000, 8_192)],
  ['deepseek-reasoner', facts(128_000, 64_000)],
  ['grok-4', facts(256_000)],
  ['mistral-large', facts(128_000)],
]

/** Returns no facts for a model that is not in the table. */
export function modelFacts(model: string): ModelFacts {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return ROWS.find(([prefix]) => name.startsWith(prefix))?.[1] ?? {}
}
