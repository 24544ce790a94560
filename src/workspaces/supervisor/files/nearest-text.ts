/** Enough for some ten milliseconds; further down nothing is looked for. Whoever answers has other things to do too. */
const MOST_SQUEEZED = 20_000
const MOST_COMPARED = 2_000
const MOST_SHOWN = 600
const ALIKE_ENOUGH = 0.5

/** Why a text was not found, in words for the model: what comes nearest to it, and in what it differs. */
export function describeNearest(text: string, sought: string): string {
  const nothing = 'The text was not found. Nothing was changed.'
  const lines = text.split('\n', MOST_SQUEEZED)
  const wanted = trimmedLines(sought)
  if (wanted.length === 0) return `${nothing} It is only blank: give some of the text around it too.`
  if (wanted.every((line) => NUMBERED.test(line)) && text.includes(wanted[0]!.replace(NUMBERED, '').trim()))
    return `${nothing} It begins with line numbers as shown when reading: leave these out, they are not in the file.`

  const spaced = sameButForSpace(lines, wanted)
  if (spaced !== undefined) {
    const shown = lines.slice(spaced, spaced + wanted.length).join('\n')
    return `${nothing} ${placed(spaced, wanted.length)} only in white space from it. In the file it is exactly:\n${cut(shown)}`
  }
  const near = mostAlike(lines, wanted)
  return near === undefined
    ? `${nothing} No line is like it: read the file again.`
    : `${nothing} The nearest is line ${near + 1}:\n${cut(lines[near]!)}`
}

const NUMBERED = /^\s*\d+(\t|[|:] ?|→)/

const placed = (at: number, count: number): string =>
  count === 1 ? `Line ${at + 1} differs` : `Lines ${at + 1} to ${at + count} differ`

const squeezed = (line: string): string => line.replaceAll(/\s+/g, '')

/** Without blank lines around, which differ most often. */
function trimmedLines(text: string): string[] {
  const lines = text.split('\n')
  while (lines.length > 0 && lines[0]!.trim() === '') lines.shift()
  while (lines.length > 0 && lines.at(-1)!.trim() === '') lines.pop()
  return lines
}

function sameButForSpace(lines: string[], wanted: string[]): number | undefined {
  const file = lines.map(squeezed)
  const part = wanted.map(squeezed)
  for (let at = 0; at + part.length <= file.length; at += 1) {
    const isFirst = part.length === 1 ? file[at]!.includes(part[0]!) : file[at]!.endsWith(part[0]!)
    if (isFirst && part.every((line, index) => isAlike(file[at + index]!, line, { index, last: part.length - 1 })))
      return at
  }
  return undefined
}

/** What is sought may begin and end in the middle of a line. */
function isAlike(line: string, part: string, { index, last }: { index: number; last: number }): boolean {
  if (last === 0) return line.includes(part)
  if (index === 0) return line.endsWith(part)
  return index === last ? line.startsWith(part) : line === part
}

/** By the pairs of letters they share, of the longest line that is sought. */
function mostAlike(lines: string[], wanted: string[]): number | undefined {
  const longest = wanted.reduce((best, line) => (line.trim().length > best.trim().length ? line : best))
  const pairs = pairsOf(longest)
  if (pairs.size === 0) return undefined
  let best: { at: number; score: number } | undefined
  for (const [at, line] of lines.slice(0, MOST_COMPARED).entries()) {
    const other = pairsOf(line)
    let shared = 0
    for (const pair of other) if (pairs.has(pair)) shared += 1
    const score = (2 * shared) / (pairs.size + other.size)
    if (score >= ALIKE_ENOUGH && score > (best?.score ?? 0)) best = { at, score }
  }
  return best?.at
}

function pairsOf(line: string): Set<string> {
  const letters = line.trim().slice(0, 400)
  const pairs = new Set<string>()
  for (let at = 0; at + 1 < letters.length; at += 1) pairs.add(letters.slice(at, at + 2))
  return pairs
}

const cut = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text)
