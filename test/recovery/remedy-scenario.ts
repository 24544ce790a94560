import type { TestContext } from 'node:test'
import type { Remedy } from '../../src/core/recovery.ts'

/** What one remedy achieves over real HTTP. It must come to another end when the remedy is taken out of the ladder. */
export type RemedyScenario = { remedy: Remedy; promise: string; play(context: TestContext): Promise<void> }
