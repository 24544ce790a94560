import type { Usage } from '../core/event.ts'

/** Tokens that steps used with one model. */
export type ModelUsage = { target: string; usage: Usage; largestPrompt: number }
