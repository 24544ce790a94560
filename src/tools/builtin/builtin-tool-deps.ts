import type { Clock } from '../../ports/clock.ts'
import type { Randomness } from '../../ports/randomness.ts'

/** What the builtin tools use. */
export type BuiltinToolDeps = { clock: Clock; randomness: Randomness; home: string }
