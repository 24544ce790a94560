/**
 * Cursor pagination in either direction. `after` and `before` are ids: `after` continues in list order, `before` goes
 * back.
 */
export type ListPage = { limit: number; order: 'asc' | 'desc'; after?: string; before?: string }

/** Undefined: the cursor is not an id of this organization. */
export type ListResult<T> = Promise<T[] | undefined>
