import { defined } from '../../core/defined.ts'
import type { ModelFacts } from '../../ports/model.ts'

/** How thinking is configured: not at all, by a token budget, or by effort. */
type Thinking = 'none' | 'budget' | 'adaptive'

type ClaudeFacts = Required<ModelFacts> & { thinking: Thinking }

const LONG_WINDOW = 1_000_000
const WINDOW = 200_000

/** From the vendor's model pages, November 2026; the first match wins. */
const KNOWN: readonly (ClaudeFacts & { model: RegExp })[] = [
  { model: /claude-3-5/, window: WINDOW, maxOutput: 8_192, thinking: 'none' },
  { model: /claude-3-7/, window: WINDOW, maxOutput: 64_000, thinking: 'budget' },
  { model: /claude-3-/, window: WINDOW, maxOutput: 4_096, thinking: 'none' },
  { model: /claude-(opus|sonnet)-4-6/, window: LONG_WINDOW, maxOutput: 64_000, thinking: 'adaptive' },
  { model: /claude-opus-4-[78]/, window: LONG_WINDOW, maxOutput: 128_000, thinking: 'adaptive' },
  { model: /claude-(opus|sonnet|haiku)-4-5/, window: WINDOW, maxOutput: 64_000, thinking: 'budget' },
  { model: /claude-opus-4/, window: WINDOW, maxOutput: 32_000, thinking: 'budget' },
  { model: /claude-sonnet-4/, window: WINDOW, maxOutput: 64_000, thinking: 'budget' },
  { model: /claude-[a-z]+-(5|preview)/, window: LONG_WINDOW, maxOutput: 128_000, thinking: 'adaptive' },
  { model: /claude-/, window: WINDOW, maxOutput: 32_000, thinking: 'adaptive' },
]

/** Another vendor's model behind this API: the output limit is required, and little else is known. */
const UNKNOWN = { maxOutput: 8_192, thinking: 'budget' } as const

export function claudeFacts(model: string): ModelFacts & { maxOutput: number; thinking: Thinking } {
  const { name, wantsLongContext } = readHandle(model)
  const known = KNOWN.find((line) => line.model.test(name)) ?? UNKNOWN
  const window = wantsLongContext ? LONG_WINDOW : 'window' in known ? known.window : undefined
  return { maxOutput: known.maxOutput, thinking: known.thinking, ...defined({ window: window || undefined }) }
}

/** Only the facts of the `ModelFacts` port. */
export function anthropicFacts(model: string): ModelFacts {
  const { window, maxOutput } = claudeFacts(model)
  return window ? { window, maxOutput } : {}
}

/** `claude-sonnet-4-5[1m]` requests the long context; the vendor's model name ends before the bracket. */
export function readHandle(model: string): { name: string; wantsLongContext: boolean } {
  const wantsLongContext = model.toLowerCase().endsWith(LONG_CONTEXT_SUFFIX)
  return { name: wantsLongContext ? model.slice(0, -LONG_CONTEXT_SUFFIX.length) : model, wantsLongContext }
}

const LONG_CONTEXT_SUFFIX = '[1m]'
