import { PAGE_BYTES } from '../../ports/list-page.ts'

/** Counts the rows of a page; a row is an object or an array of values. */
export function newPageCounter(): { isFull(): boolean; count(row: object): void } {
  let size = 0
  return {
    isFull: () => size >= PAGE_BYTES,
    count(row) {
      for (const value of Object.values(row)) size += typeof value === 'string' ? value.length : VALUE_BYTES
    },
  }
}

const VALUE_BYTES = 8

/** Reads no row after the page is full. */
export function upToPageBytes<Row>(rows: Iterable<Row>): Row[] {
  const counter = newPageCounter()
  const page: Row[] = []
  for (const row of rows) {
    page.push(row)
    counter.count(row as object)
    if (counter.isFull()) break
  }
  return page
}
