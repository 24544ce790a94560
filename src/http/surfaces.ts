import { HOLDFAST } from './holdfast/operations.ts'
import { LETTA } from './letta/operations.ts'
import { OPENAI } from './openai/operations.ts'
import type { Surface } from './surface.ts'

/** Everything this server serves. A further vocabulary is one more folder and one more entry. */
export const SURFACES: readonly Surface[] = [LETTA, HOLDFAST, OPENAI]
