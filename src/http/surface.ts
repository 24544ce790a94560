import type { ErrorTable } from './errors.ts'
import type { Method, Operation } from './operation.ts'

/** One vocabulary of the API: its operations, what its clients know and is not served, and how it tells errors. */
export type Surface = {
  operations: readonly Operation[]
  notServed: readonly NotServed[]
  errors: ErrorTable
}

/** Answered with 501 and a reason, because a client knows it. Serving it without removing it here fails at the start. */
export type NotServed = {
  /** All of them if not given. */
  methods?: Method[]
  path: string
  what: string
}
