/** Marks that combine with the character before them, and characters without a width of their own. */
const ZERO_WIDTH = /^(\p{Mn}|\p{Me}|\p{Cf}|\p{Emoji_Modifier})$/u

/** Ranges that terminals show two columns wide: East Asian Wide and Fullwidth, and emoji. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x231a, 0x231b],
  [0x2329, 0x232a],
  [0x23e9, 0x23ec],
  [0x25fd, 0x25fe],
  [0x2614, 0x2615],
  [0x2648, 0x2653],
  [0x26a1, 0x26a1],
  [0x2705, 0x2705],
  [0x2728, 0x2728],
  [0x274c, 0x274c],
  [0x2753, 0x2757],
  [0x2795, 0x2797],
  [0x2b1b, 0x2b1c],
  [0x2b50, 0x2b55],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97c],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f000, 0x1f02b],
  [0x1f0cf, 0x1f0cf],
  [0x1f18e, 0x1f18e],
  [0x1f191, 0x1f19a],
  [0x1f200, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f7e0, 0x1f7eb],
  [0x1f900, 0x1f9ff],
  [0x1fa70, 0x1faff],
  [0x20000, 0x3fffd],
]

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Columns of a text without control characters on a terminal. */
export function textWidth(text: string): number {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment)
  return width
}

/** What a person sees as one character takes one column or two, however many code points it has. */
function graphemeWidth(grapheme: string): number {
  let width = 0
  for (const character of grapheme) {
    if (ZERO_WIDTH.test(character)) continue
    const point = character.codePointAt(0)!
    width = Math.max(width, WIDE.some(([from, to]) => point >= from && point <= to) ? 2 : 1)
  }
  // The emoji form of a character, such as a keycap.
  return grapheme.includes('\ufe0f') ? 2 : width
}

/** At most `limit` columns; an ellipsis replaces what does not fit. */
export function cutToWidth(text: string, limit: number): string {
  if (textWidth(text) <= limit) return text
  let kept = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment)
    if (width > limit - 1) break
    kept += segment
  }
  return `${kept}…`
}

export const padToWidth = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - textWidth(text)))
