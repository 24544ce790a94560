/**
 * Cursor pagination in either direction. `after` and `before` are ids: `after` continues in list order, `before` goes
 * back.
 */
export type ListPage = { limit: number; order: 'asc' | 'desc'; after?: string; before?: string }

/** Undefined: the cursor is not an id of this organization. */
export type ListResult<T> = Promise<T[] | undefined>

/** A page of a list ends early at this size; callers read on after its last item until a page is empty. */
export const PAGE_BYTES = 8 * 1024 * 1024
