import { textSize } from '../core/text-size.ts'
import { PAGE_BYTES } from '../ports/list-page.ts'
import { newSlices } from './loop-slices.ts'

type Cursors = { after?: string | undefined; before?: string | undefined }

/** With `before` alone, the items next to the cursor are the last ones of the page. */
const isReadFromEnd = ({ after, before }: Cursors): boolean => Boolean(before) && !after

/** The items next to the cursor, up to PAGE_BYTES and at least one. */
export function withinPageBytes<T>(items: readonly T[], cursors: Cursors): T[] {
  const isReversed = isReadFromEnd(cursors)
  const nearestFirst = isReversed ? items.toReversed() : items
  let size = 0
  const most = nearestFirst.findIndex((item) => {
    size += textSize(item)
    return size >= PAGE_BYTES
  })
  const kept = most < 0 ? nearestFirst.slice() : nearestFirst.slice(0, most + 1)
  return isReversed ? kept.reverse() : kept
}

const BUILT_AT_ONCE = 4

/** Builds the items of a page, a few at a time, and stops at PAGE_BYTES: what is built can be larger than its row. */
export async function builtPage<T, Built>(
  items: readonly T[],
  cursors: Cursors,
  build: (items: readonly T[]) => Promise<Built[]>,
): Promise<Built[]> {
  const isReversed = isReadFromEnd(cursors)
  const nearestFirst = isReversed ? items.toReversed() : items
  const built: Built[] = []
  const pause = newSlices()
  let size = 0
  for (let start = 0; start < nearestFirst.length && size < PAGE_BYTES; start += BUILT_AT_ONCE) {
    await pause()
    for (const one of await build(nearestFirst.slice(start, start + BUILT_AT_ONCE))) {
      if (size >= PAGE_BYTES) break
      size += textSize(one)
      built.push(one)
    }
  }
  return isReversed ? built.reverse() : built
}
