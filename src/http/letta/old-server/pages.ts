import type { OldAnswer, OldServer, Query } from './requests.ts'

/** An object of a list. Its other fields are checked where they are read. */
export type Listed = { id: string; [field: string]: unknown }

type ListedPage =
  | { type: 'page'; items: Listed[]; hasRepairedText: boolean }
  /** The list ends here although it may have more. */
  | { type: 'broken'; reason: string; after: string | undefined }

/** Names of the direction that the versions of the server know; each ignores the others'. */
const ASCENDING = { order: 'asc', ascending: 'true' } as const

/** A cursor may be an id that the server shows and does not know, such as that of a slice. */
const OTHER_CURSORS = 3

type ListOptions = { limit: number; after?: string | undefined; query?: Query }

/**
 * The pages of a list, oldest first, until one is empty or repeats an earlier one: the server ignores cursors that it
 * does not know. The next page is requested while the current one is used.
 */
export async function* listPages(
  server: OldServer,
  path: string,
  { limit, after, query = {} }: ListOptions,
): AsyncGenerator<ListedPage> {
  const firsts = new Set<string>()
  let size = limit
  const ask = (cursor: string | undefined) =>
    askForPage(server, path, { ...ASCENDING, ...query, after: cursor, limit: size })
  let cursor = after
  /** Other cursors for the same place. */
  let others: string[] = []
  let next = ask(cursor)
  for (;;) {
    const { answer, limit: asked } = await next
    // Where a page was too large, the next ones may be, too, and each attempt takes minutes.
    size = asked
    const page = pageOf(answer, cursor)
    if (!page) return
    if (page.type === 'broken') return yield page
    const first = page.items[0]
    if (!first) return
    const ids = [...new Set(page.items.map(({ id }) => id))]
    if (firsts.has(first.id)) {
      // The list is over, or the server does not know the cursor and began again: then another one may lead on.
      if (ids.length < asked) return
      const other = others.shift()
      if (other === undefined)
        return yield { type: 'broken', reason: `GET ${path} repeats a page after ${cursor}`, after: cursor }
      cursor = other
      next = ask(cursor)
      continue
    }
    firsts.add(first.id)
    cursor = ids.at(-1)!
    others = ids.slice(-1 - OTHER_CURSORS, -1).toReversed()
    next = ask(cursor)
    // The generator may be left before the answer arrives.
    next.catch(() => undefined)
    yield page
  }
}

type Asked = { answer: OldAnswer; limit: number }

/** A page that does not fit is asked for again with a quarter of its objects. */
async function askForPage(server: OldServer, path: string, query: Query & { limit: number }): Promise<Asked> {
  const { limit } = query
  const answer = await server.get(path, query)
  if (answer.type !== 'too-large' || limit === 1) return { answer, limit }
  return askForPage(server, path, { ...query, limit: Math.max(1, Math.floor(limit / 4)) })
}

/** Undefined: this version has no such list. */
function pageOf(answer: OldAnswer, after: string | undefined): ListedPage | undefined {
  switch (answer.type) {
    case 'absent':
      return undefined
    case 'failed':
      return { type: 'broken', reason: answer.reason, after }
    case 'too-large':
      return { type: 'broken', reason: `${answer.reason}, even for one object`, after }
    case 'json': {
      const items = listIn(answer.value)
      if (!items) return { type: 'broken', reason: 'The answer is not a list', after }
      return { type: 'page', items: items.filter(isListed), hasRepairedText: answer.hasRepairedText }
    }
  }
}

/** Some lists are in an object. */
function listIn(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (value === null || typeof value !== 'object') return undefined
  return Object.values(value).find((field) => Array.isArray(field)) as unknown[] | undefined
}

const isListed = (item: unknown): item is Listed =>
  item !== null && typeof item === 'object' && typeof (item as Listed).id === 'string'

/**
 * Whether lists of messages can be read oldest first. Servers before 0.9 have no order: they return the newest page, in
 * chronological order, before or after a cursor.
 */
export async function canReadAscending(server: OldServer, path: string): Promise<boolean> {
  const first = async (order: string) => {
    const answer = await server.get(path, { limit: 1, order })
    return answer.type === 'json' ? listIn(answer.value)?.filter(isListed)[0]?.id : undefined
  }
  const oldest = await first('asc')
  if (oldest === undefined || oldest !== (await first('desc'))) return true
  const two = await server.get(path, { limit: 2 })
  const ids =
    two.type === 'json'
      ? new Set(
          listIn(two.value)
            ?.filter(isListed)
            .map(({ id }) => id),
        )
      : new Set()
  return ids.size < 2
}

/**
 * The pages of a list that can only be read from its end, oldest first: one pass backwards remembers where each page
 * begins, the second reads them.
 */
export async function* listPagesBackwards(
  server: OldServer,
  path: string,
  { limit, query = {} }: Omit<ListOptions, 'after'>,
): AsyncGenerator<ListedPage> {
  const ends: (string | undefined)[] = []
  for (let before: string | undefined; ; ) {
    const { answer } = await askForPage(server, path, { ...query, before, limit })
    const page = pageOf(answer, before)
    if (page?.type === 'broken') return yield page
    const first = page?.items[0]
    if (!first || ends.includes(first.id)) break
    ends.push(before)
    before = first.id
  }
  for (const before of ends.toReversed()) {
    const { answer } = await askForPage(server, path, { ...query, before, limit })
    const page = pageOf(answer, before)
    if (!page) return
    yield page
    if (page.type === 'broken') return
  }
}
