import type { ThinkingConfig, ThinkingLevel } from '@google/genai'
import type { Effort } from '../../core/model-settings.ts'
import type { ModelFacts, ModelRequest } from '../../ports/model.ts'

/** Differences between the generations of the vendor's models. */
type Generation = {
  thinking: 'none' | 'budget' | 'level'
  /** Rejects a call of the current turn without a signature. */
  demandsSignatures: boolean
  /** Accepts images inside a function response; older models accept them beside it. */
  nestsResultImages: boolean
  /** Accepts an output schema and tools in one request. */
  joinsSchemaAndTools: boolean
  /** Has the calling mode `VALIDATED`. */
  validatesCalls: boolean
}

const BEFORE_2_5: Generation = {
  thinking: 'none',
  demandsSignatures: false,
  nestsResultImages: false,
  joinsSchemaAndTools: false,
  validatesCalls: false,
}
const SINCE_2_5: Generation = { ...BEFORE_2_5, thinking: 'budget', validatesCalls: true }
const SINCE_3: Generation = {
  thinking: 'level',
  demandsSignatures: true,
  nestsResultImages: true,
  joinsSchemaAndTools: true,
  validatesCalls: true,
}

/** Names without a number (`gemini-flash-latest`) are of the newest generation. */
export function generationOf(model: string): Generation {
  const match = /gemini-(?:(\d+)(?:\.(\d+))?|[a-z]+)/.exec(model)
  if (!match) return BEFORE_2_5
  const version = match[1] === undefined ? 3 : Number(`${match[1]}.${match[2] ?? 0}`)
  return version >= 3 ? SINCE_3 : version >= 2.5 ? SINCE_2_5 : BEFORE_2_5
}

export function geminiFacts(model: string): ModelFacts {
  return /gemini-(2\.5|[3-9])/.test(model) ? { window: 1_048_576, maxOutput: 65_536 } : {}
}

const BUDGETS: Record<Effort, number> = {
  none: 0,
  minimal: 512,
  low: 2_048,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
const LEVELS: Record<Effort, `${ThinkingLevel}`> = {
  // The vendor cannot turn thinking off from this generation on.
  none: 'LOW',
  minimal: 'LOW',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
}
/** The first model with thinking levels has only two. */
const HAS_NO_MEDIUM = /gemini-3-pro/

export type WireThinkingConfig = Omit<ThinkingConfig, 'thinkingLevel'> & { thinkingLevel?: `${ThinkingLevel}` }

export function thinkingConfig({ model, effort, settings }: ModelRequest): WireThinkingConfig | undefined {
  const budget = effort === 'none' ? undefined : settings?.thinkingBudget
  const { thinking } = generationOf(model)
  if (thinking === 'none' || (!effort && budget === undefined)) return undefined
  const isOff = effort === 'none' || budget === 0
  const asked = budget ?? (thinking === 'budget' ? BUDGETS[effort!] : undefined)
  if (asked !== undefined) return { includeThoughts: !isOff, thinkingBudget: asked }
  const level = LEVELS[effort!]
  return { includeThoughts: true, thinkingLevel: level === 'MEDIUM' && HAS_NO_MEDIUM.test(model) ? 'HIGH' : level }
}

/** What of the request for reasoning the model does not take. */
export function notThought({ model, effort, settings }: ModelRequest): string[] {
  const { thinking } = generationOf(model)
  const isAsked = (effort && effort !== 'none') || (settings?.thinkingBudget ?? 0) > 0
  if (thinking === 'none') return isAsked ? [`reasoning: ${model} has no thinking`] : []
  return thinking === 'level' && effort === 'none'
    ? [`reasoning effort none: ${model} always thinks; the request has the lowest level`]
    : []
}
