/** A list in either direction. `after` and `before` are ids in its own order: `after` goes on, `before` goes back. */
export type ListPage = { limit: number; order: 'asc' | 'desc'; after?: string; before?: string }

/** Undefined: the cursor is not the id of anything in this organization. */
export type ListResult<T> = Promise<T[] | undefined>
