import type { ErrorTable } from './errors.ts'
import type { Operation } from './operation.ts'

/** One vocabulary of the API: its operations, and how it tells errors. */
export type Surface = { operations: readonly Operation[]; errors: ErrorTable }
