/** Limits the work to some ten milliseconds, because it blocks the supervisor; later lines are not searched. */
const MAX_LINES_SEARCHED = 20_000
const MAX_LINES_SCORED = 2_000
const MAX_SHOWN = 600
const MIN_SIMILARITY = 0.5

/** Why a text was not found, in words for the model: the nearest text, and how it differs. */
export function describeNearest(text: string, sought: string): string {
  const notFound = 'The text was not found. Nothing was changed.'
  const lines = text.split('\n', MAX_LINES_SEARCHED)
  const wanted = trimmedLines(sought)
  if (wanted.length === 0) return `${notFound} It is only blank: give some of the text around it too.`
  if (wanted.every((line) => NUMBERED.test(line)) && text.includes(wanted[0]!.replace(NUMBERED, '').trim()))
    return `${notFound} It begins with line numbers as shown when reading: leave these out, they are not in the file.`

  const spaced = findIgnoringSpace(lines, wanted)
  if (spaced !== undefined) {
    const shown = lines.slice(spaced, spaced + wanted.length).join('\n')
    return `${notFound} ${describePosition(spaced, wanted.length)} only in white space from it. In the file it is exactly:\n${cut(shown)}`
  }
  const near = findMostSimilar(lines, wanted)
  return near === undefined
    ? `${notFound} No line is like it: read the file again.`
    : `${notFound} The nearest is line ${near + 1}:\n${cut(lines[near]!)}`
}

const NUMBERED = /^\s*\d+(\t|[|:] ?|→)/

const describePosition = (at: number, count: number): string =>
  count === 1 ? `Line ${at + 1} differs` : `Lines ${at + 1} to ${at + count} differ`

const withoutSpace = (line: string): string => line.replaceAll(/\s+/g, '')

/** Without leading and trailing blank lines, which differ most often. */
function trimmedLines(text: string): string[] {
  const lines = text.split('\n')
  while (lines.length > 0 && lines[0]!.trim() === '') lines.shift()
  while (lines.length > 0 && lines.at(-1)!.trim() === '') lines.pop()
  return lines
}

function findIgnoringSpace(lines: string[], wanted: string[]): number | undefined {
  const file = lines.map(withoutSpace)
  const part = wanted.map(withoutSpace)
  for (let at = 0; at + part.length <= file.length; at += 1) {
    const isFirst = part.length === 1 ? file[at]!.includes(part[0]!) : file[at]!.endsWith(part[0]!)
    if (isFirst && part.every((line, index) => matchesPart(file[at + index]!, line, { index, last: part.length - 1 })))
      return at
  }
  return undefined
}

/** The text may begin and end in the middle of a line. */
function matchesPart(line: string, part: string, { index, last }: { index: number; last: number }): boolean {
  if (last === 0) return line.includes(part)
  if (index === 0) return line.endsWith(part)
  return index === last ? line.startsWith(part) : line === part
}

/** Compares the longest of the wanted lines, by shared pairs of letters. */
function findMostSimilar(lines: string[], wanted: string[]): number | undefined {
  const longest = wanted.reduce((best, line) => (line.trim().length > best.trim().length ? line : best))
  const pairs = letterPairs(longest)
  if (pairs.size === 0) return undefined
  let best: { at: number; score: number } | undefined
  for (const [at, line] of lines.slice(0, MAX_LINES_SCORED).entries()) {
    const other = letterPairs(line)
    let shared = 0
    for (const pair of other) if (pairs.has(pair)) shared += 1
    const score = (2 * shared) / (pairs.size + other.size)
    if (score >= MIN_SIMILARITY && score > (best?.score ?? 0)) best = { at, score }
  }
  return best?.at
}

function letterPairs(line: string): Set<string> {
  const letters = line.trim().slice(0, 400)
  const pairs = new Set<string>()
  for (let at = 0; at + 1 < letters.length; at += 1) pairs.add(letters.slice(at, at + 2))
  return pairs
}

const cut = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text)
