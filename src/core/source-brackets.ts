/** Brackets of a language; inside them and inside quotes nothing is split. */
type Brackets = { opening: string; closing: string; quotes: string }

const PYTHON_BRACKETS: Brackets = { opening: '([{', closing: ')]}', quotes: '"\'' }
export const TYPESCRIPT_BRACKETS: Brackets = { opening: '([{<', closing: ')]}>', quotes: '"\'`' }

/** The index of the bracket that closes the one open at `from`; brackets inside quotes are skipped. */
export function closingAt(
  text: string,
  from: number,
  { opening, closing, quotes } = PYTHON_BRACKETS,
): number | undefined {
  let depth = 1
  for (let at = from; at < text.length; at++) {
    const sign = text[at]!
    if (quotes.includes(sign)) at = endOfQuote(text, at)
    else if (opening.includes(sign)) depth++
    else if (closing.includes(sign) && !isArrow(text, at) && --depth === 0) return at
  }
  return undefined
}

/** The `>` of `=>` closes nothing. */
const isArrow = (text: string, at: number): boolean => text[at] === '>' && text[at - 1] === '='

export function endOfQuote(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === text[from]) return at
  }
  return text.length
}

/** The parts between these signs that stand outside of brackets and quotes, trimmed; empty ones are left out. */
export function splitOutside(text: string, signs: string, { opening, closing, quotes } = PYTHON_BRACKETS): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (quotes.includes(sign)) at = endOfQuote(text, at)
    else if (opening.includes(sign)) depth++
    else if (closing.includes(sign) && !isArrow(text, at)) depth--
    else if (depth === 0 && signs.includes(sign)) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim()).filter(Boolean)
}
