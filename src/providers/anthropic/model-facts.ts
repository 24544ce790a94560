import { defined } from '../../core/defined.ts'
import type { RequestAdjustments } from '../../core/request-adjustments.ts'
import type { ModelFacts } from '../../ports/model.ts'

/** How thinking is configured: not at all, by a token budget, or by effort; `always`: it cannot be turned off. */
type Thinking = 'none' | 'budget' | 'adaptive' | 'always'

type ClaudeFacts = Required<ModelFacts> & {
  thinking: Thinking
  /** Takes an output schema and strict tools; the vendor's page on structured outputs names models from 4.5 on. */
  isStructured: boolean
  /** Thinks between tool calls if a beta header asks for it; adaptive models do so without. */
  interleaves?: true
}

const LONG_WINDOW = 1_000_000
const WINDOW = 200_000

/** From the vendor's model pages, November 2026; the first match wins. */
const KNOWN: readonly (ClaudeFacts & { model: RegExp })[] = [
  { model: /claude-3-5/, window: WINDOW, maxOutput: 8_192, thinking: 'none', isStructured: false },
  { model: /claude-3-7/, window: WINDOW, maxOutput: 64_000, thinking: 'budget', isStructured: false },
  { model: /claude-3-/, window: WINDOW, maxOutput: 4_096, thinking: 'none', isStructured: false },
  {
    model: /claude-(opus|sonnet)-4-6/,
    window: LONG_WINDOW,
    maxOutput: 64_000,
    thinking: 'adaptive',
    isStructured: true,
  },
  { model: /claude-opus-4-[78]/, window: LONG_WINDOW, maxOutput: 128_000, thinking: 'adaptive', isStructured: true },
  {
    model: /claude-(opus|sonnet|haiku)-4-5/,
    window: WINDOW,
    maxOutput: 64_000,
    thinking: 'budget',
    isStructured: true,
    interleaves: true,
  },
  {
    model: /claude-opus-4/,
    window: WINDOW,
    maxOutput: 32_000,
    thinking: 'budget',
    isStructured: false,
    interleaves: true,
  },
  {
    model: /claude-sonnet-4/,
    window: WINDOW,
    maxOutput: 64_000,
    thinking: 'budget',
    isStructured: false,
    interleaves: true,
  },
  { model: /claude-(fable|mythos)-/, window: LONG_WINDOW, maxOutput: 128_000, thinking: 'always', isStructured: true },
  {
    model: /claude-[a-z]+-(5|preview)/,
    window: LONG_WINDOW,
    maxOutput: 128_000,
    thinking: 'adaptive',
    isStructured: true,
  },
  { model: /claude-/, window: WINDOW, maxOutput: 32_000, thinking: 'adaptive', isStructured: true },
]

/** Another vendor's model behind this API: the output limit is required, and little else is known. */
const UNKNOWN = { maxOutput: 8_192, thinking: 'budget', isStructured: false } as const

export function claudeFacts(
  model: string,
): ModelFacts & Pick<ClaudeFacts, 'maxOutput' | 'thinking' | 'isStructured'> & { interleaves: boolean } {
  const { name, wantsLongContext } = readHandle(model)
  const known = KNOWN.find((line) => line.model.test(name)) ?? UNKNOWN
  const window = wantsLongContext ? LONG_WINDOW : 'window' in known ? known.window : undefined
  const { maxOutput, thinking, isStructured } = known
  const interleaves = 'interleaves' in known && known.interleaves === true
  return { maxOutput, thinking, isStructured, interleaves, ...defined({ window: window || undefined }) }
}

/** Only the facts of the `ModelFacts` port. An account without the long context has the standard window. */
export function anthropicFacts(model: string, { dropLongContextBeta }: RequestAdjustments = {}): ModelFacts {
  const { window, maxOutput } = claudeFacts(dropLongContextBeta ? readHandle(model).name : model)
  return window ? { window, maxOutput } : {}
}

/** `claude-sonnet-4-5[1m]` requests the long context; the vendor's model name ends before the bracket. */
export function readHandle(model: string): { name: string; wantsLongContext: boolean } {
  const wantsLongContext = model.toLowerCase().endsWith(LONG_CONTEXT_SUFFIX)
  return { name: wantsLongContext ? model.slice(0, -LONG_CONTEXT_SUFFIX.length) : model, wantsLongContext }
}

const LONG_CONTEXT_SUFFIX = '[1m]'
