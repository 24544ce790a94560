export type DiffLine = { sign: ' ' | '−' | '+'; text: string } | { sign: '…'; lines: number }

/** Lines around a change that are shown. */
const CONTEXT = 2
/** More cells than this would hold the page: everything between the equal ends counts as replaced. */
const MAX_CELLS = 1_000_000

/** What changed from one text to the other, line by line; long equal parts are left out. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const same = (text: string): DiffLine => ({ sign: ' ', text })
  return shorten([
    ...old.slice(0, start).map(same),
    ...changedPart(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map(same),
  ])
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.split('\n'))

/** The longest common subsequence of lines. */
function changedPart(old: readonly string[], now: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ sign: '−', text })
  const added = (text: string): DiffLine => ({ sign: '+', text })
  if (old.length * now.length > MAX_CELLS) return [...old.map(removed), ...now.map(added)]
  const width = now.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  for (let row = old.length - 1; row >= 0; row--)
    for (let column = now.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        old[row] === now[column]
          ? lengths[(row + 1) * width + column + 1]! + 1
          : Math.max(lengths[(row + 1) * width + column]!, lengths[row * width + column + 1]!)
  const lines: DiffLine[] = []
  let [row, column] = [0, 0]
  while (row < old.length && column < now.length) {
    if (old[row] === now[column]) {
      lines.push({ sign: ' ', text: old[row]! })
      row++
      column++
    } else if (lengths[(row + 1) * width + column]! >= lengths[row * width + column + 1]!)
      lines.push(removed(old[row++]!))
    else lines.push(added(now[column++]!))
  }
  return [...lines, ...old.slice(row).map(removed), ...now.slice(column).map(added)]
}

function shorten(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = lines.map(() => false)
  for (const [index, { sign }] of lines.entries())
    if (sign !== ' ')
      for (let at = index - CONTEXT; at <= index + CONTEXT; at++) if (at >= 0 && at < lines.length) isNear[at] = true
  const shown: DiffLine[] = []
  for (const [index, line] of lines.entries()) {
    const last = shown.at(-1)
    if (isNear[index]) shown.push(line)
    else if (last?.sign === '…') last.lines++
    else shown.push({ sign: '…', lines: 1 })
  }
  return shown
}
