import type { ErrorTable, RefusalBody } from './errors.ts'
import type { Method, Operation } from './operation.ts'

/** One vocabulary of the API: its operations, the routes it answers with 501, and its error table. */
export type Surface = {
  operations: readonly Operation[]
  notServed: readonly NotServed[]
  errors: ErrorTable
  /** The body of a refusal that comes before the handler; without it `{ detail }`. */
  refusal?: RefusalBody
}

/**
 * A route that clients know and Holdfast does not serve: answered with 501 and a reason. The start fails if it is
 * served and not removed here.
 */
export type NotServed = {
  /** All methods by default. */
  methods?: Method[]
  path: string
  what: string
}
