import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { defined } from '../../../core/defined.ts'
import { confirmMatches, type ReportedMatch } from './confirm-matches.ts'
import { pathIn } from './open-folder.ts'
import { TEMPORARY_NAMES } from './replace-file.ts'
import type { SearchTask } from './search-by-walking.ts'
import { excerptAround, MAX_FILE_BYTES, type SearchResult, SKIPPED_FOLDERS } from './search-limits.ts'

/** In a sandbox the supervisor has no PATH. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

/** Skips folders of the workspace: a program from there must not run in the supervisor. */
export function findRipgrep(folder: string, searchPath = process.env.PATH || DEFAULT_PATH): string | undefined {
  const folders = searchPath.split(delimiter).filter((one) => isAbsolute(one) && !`${one}/`.startsWith(`${folder}/`))
  return folders.map((one) => join(one, 'rg')).find(isProgram)
}

/**
 * Undefined if ripgrep is missing or rejects the pattern or the glob. The caller then uses the walker, which reports
 * what is wrong.
 */
export function searchByRipgrep(program: string, task: SearchTask): Promise<SearchResult | undefined> {
  const { promise, resolve } = Promise.withResolvers<SearchResult | undefined>()
  const found = newMatchCollector(task.maxMatches)
  // Start in the open folder, so that a link swapped in meanwhile cannot redirect the search.
  const child = spawn(program, ripgrepArguments(task), {
    cwd: pathIn(task.folder),
    env: { LC_ALL: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let ending: SearchResult['cutBy'] | 'unusable'
  const stop = (why: typeof ending) => {
    ending ??= why
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => stop('time'), Math.max(1, task.deadline - Date.now()))
  child.stdout.on('data', (data: Buffer) => {
    if (found.add(data) === 'full') stop('matches')
  })
  let complaint = ''
  child.stderr.on('data', (data: Buffer) => {
    if (complaint.length < 1_000) complaint += data.toString()
  })
  child.on('error', () => stop('unusable'))
  child.on('close', (code) => {
    clearTimeout(timer)
    // Exit code 2 without an error text means unreadable files; no exit code means ripgrep was killed.
    if (code === null || (code === 2 && complaint !== '')) ending ??= 'unusable'
    if (ending === 'unusable') resolve(undefined)
    else resolve(confirmed(task, found.matches(), ending))
  })
  return promise
}

async function confirmed(
  { folder }: SearchTask,
  reported: readonly ReportedMatch[],
  cutBy: SearchResult['cutBy'],
): Promise<SearchResult> {
  return { matches: await confirmMatches(folder, reported), ...defined({ cutBy }) }
}

function ripgrepArguments({ query: { pattern, isText, glob, ignoreCase }, maxMatches }: SearchTask): string[] {
  const left = [...SKIPPED_FOLDERS, TEMPORARY_NAMES].flatMap((name) => ['--glob', `!${name}`])
  return [
    '--json',
    '--no-config',
    '--no-messages',
    '--hidden',
    '--no-ignore',
    '--no-mmap',
    '--crlf',
    '--sort',
    'path',
    '--max-filesize',
    String(MAX_FILE_BYTES),
    '--max-count',
    String(maxMatches + 1),
    ...(isText ? ['--fixed-strings'] : []),
    ignoreCase ? '--ignore-case' : '--case-sensitive',
    // The last matching glob wins.
    ...(glob === undefined ? [] : ['--glob', glob]),
    ...left,
    '--regexp',
    pattern,
    '--',
    './',
  ]
}

type RipgrepText = { text: string } | { bytes: string }
type RipgrepMessage =
  | {
      type: 'match'
      data: { path: RipgrepText; lines: RipgrepText; line_number: number; submatches: { start: number }[] }
    }
  | { type: 'end'; data: { binary_offset: number | null } }
  | { type: 'begin' | 'summary' | 'context' }

/** Matches of a file count at its end: only then is it known to be text. */
function newMatchCollector(maxMatches: number) {
  const done: ReportedMatch[] = []
  let current: ReportedMatch[] = []
  let half: Buffer[] = []

  const take = (line: string) => {
    const message = JSON.parse(line) as RipgrepMessage
    if (message.type === 'match' && current.length <= maxMatches) {
      const path = 'text' in message.data.path ? message.data.path.text : undefined
      const lines = bytesOf(message.data.lines)
      const before = lines.subarray(0, message.data.submatches[0]?.start ?? 0).toString()
      const text = lines.toString().replace(/\r?\n$/, '')
      // A file name that is not valid text cannot be returned.
      if (path !== undefined)
        current.push({
          path: path.replace(/^\.\//, ''),
          line: message.data.line_number,
          text: excerptAround(text, before.length),
          at: before.length,
        })
    }
    if (message.type === 'end') {
      if (message.data.binary_offset === null) done.push(...current)
      current = []
    }
  }

  return {
    add(data: Buffer): 'full' | 'more' {
      let start = 0
      for (let end = data.indexOf(10); end !== -1 && done.length <= maxMatches; end = data.indexOf(10, start)) {
        take(Buffer.concat([...half, data.subarray(start, end)]).toString())
        half = []
        start = end + 1
      }
      if (start < data.length) half.push(data.subarray(start))
      return done.length > maxMatches ? 'full' : 'more'
    },
    matches: (): ReportedMatch[] => done.slice(0, maxMatches),
  }
}

const bytesOf = (text: RipgrepText): Buffer =>
  'text' in text ? Buffer.from(text.text) : Buffer.from(text.bytes, 'base64')

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
