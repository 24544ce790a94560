import { FileRefusal } from './file-refusal.ts'

type HunkLine = { sign: ' ' | '-' | '+'; text: string; isUnterminated: boolean }

export type Hunk = {
  /** Its line that begins with @@, as it was given. */
  head: string
  /** The first line of the old file it speaks of, where it says so. For nothing but new lines: the one they come after. */
  start: number | undefined
  lines: HunkLine[]
  /** Those of them that the file must have. */
  old: HunkLine[]
  /** Whether it speaks of the end of the file. */
  saysEnd: boolean
}

const HEAD = /^@@+ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/
const FILE_HEAD = /^(diff --git |Index: |=== )/

/** A unified diff of one file. Counts that are wrong are forgiven: what follows a head says more than its numbers. */
export function parsePatch(patch: string): Hunk[] {
  const lines = patch.replaceAll('\r\n', '\n').split('\n')
  if (lines.at(-1) === '') lines.pop()
  const heads = lines.flatMap((line, at) => (isHead(line) ? [at] : []))
  const first = heads[0]
  if (first === undefined)
    throw bad(
      'There is no hunk in the patch: it needs lines like "@@ -3,2 +3,3 @@", then lines with " ", "-" or "+" first.',
    )
  refuseOtherThanChange(lines.slice(0, first))

  const hunks: Hunk[] = []
  let at = first
  while (at < lines.length) {
    const line = lines[at]!
    // What git writes under a patch that is sent by mail.
    if (line === '-- ') break
    if (!isHead(line)) {
      if (isFileHead(lines, at)) throw bad('The patch is for several files. Give each its own call.')
      throw bad(`Line ${at + 1} of the patch is neither a part of hunk ${hunks.length} nor the head of another one.`)
    }
    const end = endByCounts(lines, at) ?? endByShape(lines, at)
    hunks.push(parseHunk(lines, { at, end, number: hunks.length + 1 }))
    at = end
    while (at < lines.length && lines[at] === '') at += 1
  }
  return hunks
}

const isHead = (line: string): boolean => HEAD.test(line) || /^@@( .*)?$/.test(line)

/** Only between hunks: inside one, a line that is removed or added may look the same. */
const isFileHead = (lines: string[], at: number): boolean =>
  FILE_HEAD.test(lines[at]!) || (lines[at]!.startsWith('--- ') && (lines[at + 1]?.startsWith('+++ ') ?? false))

function refuseOtherThanChange(before: string[]): void {
  if (before.some((line) => line.startsWith('--- /dev/null')))
    throw bad('The patch makes a new file. Write that file instead.')
  if (before.some((line) => line.startsWith('+++ /dev/null')))
    throw bad('The patch removes the file. Remove it with a command of the shell instead.')
}

/** Where the hunk ends if the numbers in its head are right; undefined when they are not. */
function endByCounts(lines: string[], start: number): number | undefined {
  const match = HEAD.exec(lines[start]!)
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
    at >= lines.length || isHead(lines[at]!) || lines[at] === '' || lines[at] === '-- ' || isFileHead(lines, at)
  return old === 0 && fresh === 0 && isEnd ? at : undefined
}

/** Where the hunk ends as far as one can see. */
function endByShape(lines: string[], start: number): number {
  let at = start + 1
  while (at < lines.length && !isHead(lines[at]!) && !isFileHead(lines, at)) at += 1
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
      throw bad(`Line ${index + 1} of the patch, in hunk ${number}, does not begin with " ", "-" or "+".`)
    }
  }
  if (lines.every((line) => line.sign === ' ')) throw bad(`Hunk ${number} (${head}) changes nothing.`)
  const stated = HEAD.exec(head)?.[1]
  return {
    head,
    start: stated === undefined ? undefined : Number(stated),
    lines,
    old: lines.filter((line) => line.sign !== '+'),
    saysEnd: lines.some((line) => line.isUnterminated),
  }
}

const bad = (words: string): FileRefusal => new FileRefusal('bad-patch', `${words} Nothing was changed.`)
