/** The share of a cut text that is kept from its beginning; the rest of what is kept comes from its end. */
const HEAD_SHARE = 0.7

/** A text of at most about `max` characters: the middle of a longer one is replaced by a mark that says how much. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  const room = max - leftOutMark(text.length).length - 2
  if (room <= 0) return leftOutMark(text.length)
  const head = Math.floor(room * HEAD_SHARE)
  const tail = room - head
  const end = tail > 0 ? ` ${text.slice(-tail).toWellFormed()}` : ''
  return `${text.slice(0, head).toWellFormed()} ${leftOutMark(text.length - room)}${end}`
}

const leftOutMark = (characters: number): string => `[… ${characters} characters left out …]`
