import { FileRefusal } from './file-refusal.ts'

type HunkLine = { sign: ' ' | '-' | '+'; text: string; isUnterminated: boolean }

export type Hunk = {
  /** Its line that begins with @@, as given. */
  head: string
  /** Its first line in the old file, if stated. For a hunk of new lines only: the line they follow. */
  start: number | undefined
  lines: HunkLine[]
  /** The lines that must be in the file. */
  old: HunkLine[]
  /** Whether it states that the file ends there ("\ No newline at end of file"). */
  saysEnd: boolean
}

const HUNK_HEAD = /^@@+ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/
const FILE_HEAD = /^(diff --git |Index: |=== )/

/**
 * Parses a unified diff of one file. Wrong counts are tolerated: models often miscount, and the lines are what matters.
 */
export function parsePatch(patch: string): Hunk[] {
  const lines = patch.replaceAll('\r\n', '\n').split('\n')
  if (lines.at(-1) === '') lines.pop()
  const heads = lines.flatMap((line, at) => (isHunkHead(line) ? [at] : []))
  const first = heads[0]
  if (first === undefined)
    throw badPatch(
      'There is no hunk in the patch: it needs lines like "@@ -3,2 +3,3 @@", then lines with " ", "-" or "+" first.',
    )
  refuseCreationAndRemoval(lines.slice(0, first))

  const hunks: Hunk[] = []
  let at = first
  while (at < lines.length) {
    const line = lines[at]!
    // The signature line of a patch that git formats as mail.
    if (line === '-- ') break
    if (!isHunkHead(line)) {
      if (isFileHead(lines, at)) throw badPatch('The patch is for several files. Give each its own call.')
      throw badPatch(
        `Line ${at + 1} of the patch is neither a part of hunk ${hunks.length} nor the head of another one.`,
      )
    }
    const end = endByCounts(lines, at) ?? endByShape(lines, at)
    hunks.push(parseHunk(lines, { at, end, number: hunks.length + 1 }))
    at = end
    while (at < lines.length && lines[at] === '') at += 1
  }
  return hunks
}

const isHunkHead = (line: string): boolean => HUNK_HEAD.test(line) || /^@@( .*)?$/.test(line)

/** Valid between hunks only: inside one, a removed or added line may look the same. */
const isFileHead = (lines: string[], at: number): boolean =>
  FILE_HEAD.test(lines[at]!) || (lines[at]!.startsWith('--- ') && (lines[at + 1]?.startsWith('+++ ') ?? false))

function refuseCreationAndRemoval(before: string[]): void {
  if (before.some((line) => line.startsWith('--- /dev/null')))
    throw badPatch('The patch makes a new file. Write that file instead.')
  if (before.some((line) => line.startsWith('+++ /dev/null')))
    throw badPatch('The patch removes the file. Remove it with a command of the shell instead.')
}

/** The end of the hunk by the counts in its head; undefined if they are wrong. */
function endByCounts(lines: string[], start: number): number | undefined {
  const match = HUNK_HEAD.exec(lines[start]!)
  if (!match) return undefined
  let old = Number(match[2] ?? 1)
  let fresh = Number(match[3] ?? 1)
  let at = start + 1
  for (; at < lines.length && (old > 0 || fresh > 0); at += 1) {
    const sign = lines[at]![0] ?? ' '
    if (sign === '\\') continue
    if (sign !== '+') old -= 1
    if (sign !== '-') fresh -= 1
    if (!' -+'.includes(sign)) return undefined
  }
  while (lines[at]?.startsWith('\\')) at += 1
  const isEnd =
    at >= lines.length || isHunkHead(lines[at]!) || lines[at] === '' || lines[at] === '-- ' || isFileHead(lines, at)
  return old === 0 && fresh === 0 && isEnd ? at : undefined
}

/** The end of the hunk by the next head or the end of the patch. */
function endByShape(lines: string[], start: number): number {
  let at = start + 1
  while (at < lines.length && !isHunkHead(lines[at]!) && !isFileHead(lines, at)) at += 1
  while (at > start + 1 && lines[at - 1] === '') at -= 1
  return at
}

function parseHunk(all: string[], { at, end, number }: { at: number; end: number; number: number }): Hunk {
  const head = all[at]!
  const lines: HunkLine[] = []
  for (let index = at + 1; index < end; index += 1) {
    const line = all[index]!
    const sign = line[0] ?? ' '
    if (sign === '\\') {
      const last = lines.at(-1)
      if (last) last.isUnterminated = true
    } else if (sign === ' ' || sign === '-' || sign === '+') {
      lines.push({ sign, text: line.slice(1), isUnterminated: false })
    } else {
      throw badPatch(`Line ${index + 1} of the patch, in hunk ${number}, does not begin with " ", "-" or "+".`)
    }
  }
  if (lines.every((line) => line.sign === ' ')) throw badPatch(`Hunk ${number} (${head}) changes nothing.`)
  const stated = HUNK_HEAD.exec(head)?.[1]
  return {
    head,
    start: stated === undefined ? undefined : Number(stated),
    lines,
    old: lines.filter((line) => line.sign !== '+'),
    saysEnd: lines.some((line) => line.isUnterminated),
  }
}

const badPatch = (message: string): FileRefusal => new FileRefusal('bad-patch', `${message} Nothing was changed.`)
