/** An id begins with its time: this much of it is the millisecond. */
const SHOWN_DIGITS = 13

/** The beginning of an id, which commands accept in its place: `run-01a1f06c-dce1`. */
export function shortId(id: string): string {
  const at = id.lastIndexOf('-', id.indexOf('-')) + 1
  return id.slice(0, at + SHOWN_DIGITS)
}
