import { FileRefusal } from './file-refusal.ts'

/** A regular expression over paths relative to the start of the search; `isNegative`: matching paths are excluded. */
export type GlobPattern = { source: string; flags: string; isNegative: boolean }

/**
 * As in a .gitignore file: without a slash a name in any folder, with one a path. With `!` in front, paths to exclude.
 * Written here because picomatch and `path.matchesGlob` read `[!a]`, `.name` and `a+(b)` differently from ripgrep and
 * backtrack as much on `*a*a*a*b`; `LineMatcher` ends such a match at its deadline.
 */
export function globPattern(glob: string): GlobPattern {
  const isNegative = glob.startsWith('!')
  const wanted = isNegative ? glob.slice(1) : glob
  if (wanted === '') throw badGlob('it is empty')
  if (wanted.endsWith('/')) throw badGlob('it names a folder: add ** to mean all files in it')
  const source = `^${wanted.includes('/') ? '' : '(?:.*/)?'}${translateGlob(wanted.replace(/^\//, ''))}$`
  try {
    new RegExp(source, 'su')
  } catch {
    throw badGlob('the brackets in it hold nothing that can be matched')
  }
  return { source, flags: 'su', isNegative }
}

function translateGlob(glob: string): string {
  let source = ''
  let braces = 0
  for (let at = 0; at < glob.length; ) {
    const rest = glob.slice(at)
    const [taken, written] = translatePiece(rest, at === 0 || glob[at - 1] === '/', braces)
    if (rest[0] === '{') braces += 1
    if (rest[0] === '}' && braces > 0) braces -= 1
    source += written
    at += taken
  }
  if (braces > 0) throw badGlob('a "{" in it is not closed')
  return source
}

function translatePiece(rest: string, isStart: boolean, braces: number): [taken: number, written: string] {
  if (isStart && rest.startsWith('**/')) return [3, '(?:.*/)?']
  if (isStart && rest === '**') return [2, '.*']
  const sign = rest[0]!
  if (sign === '*') return [/^\*+/.exec(rest)![0].length, '[^/]*']
  if (sign === '?') return [1, '[^/]']
  if (sign === '[') return translateClass(rest)
  if (sign === '{') return [1, '(?:']
  if (sign === '}' && braces > 0) return [1, ')']
  if (sign === ',' && braces > 0) return [1, '|']
  if (sign === '\\' && rest.length > 1) return [2, literal(rest[1]!)]
  return [1, literal(sign)]
}

function translateClass(rest: string): [taken: number, written: string] {
  const match = /^\[([!^]?)(\]?[^\]]*)\]/.exec(rest)
  if (!match || match[2] === '') throw badGlob('a "[" in it is not closed')
  const members = match[2]!.replaceAll(/[\\[\]^]/g, '\\$&')
  return [match[0].length, `[${match[1] ? '^/' : ''}${members}]`]
}

const literal = (sign: string): string => sign.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')

const badGlob = (why: string): FileRefusal =>
  new FileRefusal('bad-pattern', `The glob cannot be used: ${why}. Give one like "*.ts" or "src/**/*.py".`)
