import type { TestContext } from 'node:test'
import type { Remedy } from '../../src/core/recovery.ts'

/** What one remedy achieves over real HTTP. The scenario must fail when the remedy is removed from the ladder. */
export type RemedyScenario = { remedy: Remedy; promise: string; play(context: TestContext): Promise<void> }
