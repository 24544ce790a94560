import type { TestContext } from 'node:test'
import type { Rung } from '../../src/core/recovery.ts'

/** What one rung of the ladder achieves over real HTTP. The scenario must fail when the rung is removed. */
export type RemedyScenario = { remedy: Rung; promise: string; play(context: TestContext): Promise<void> }
