import type { Awaitable } from '../database/statement.ts'

type EditNamedOptions<T> = {
  edit(before: T): T
  isTaken(name: string): Awaitable<unknown>
  /** Applies the new name wherever the old one is referenced. */
  rename(before: T, after: T): Promise<void>
  save(after: T): Awaitable<unknown>
}

/** Edits an object whose name is unique in its organization. */
export async function editNamed<T extends { name: string }>(
  before: T,
  { edit, isTaken, rename, save }: EditNamedOptions<T>,
): Promise<T | 'name-taken'> {
  const after = edit(before)
  if (after.name !== before.name) {
    if (await isTaken(after.name)) return 'name-taken'
    await rename(before, after)
  }
  await save(after)
  return after
}
