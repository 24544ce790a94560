import { randomUUID } from 'node:crypto'
import type { Randomness } from '../ports/randomness.ts'

export const realRandomness: Randomness = { uuid: () => randomUUID(), fraction: Math.random }
