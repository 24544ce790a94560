import { constants, type Dirent } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { defined } from '../../../core/defined.ts'
import type { FileSearchQuery } from '../../../ports/workspace-files.ts'
import { errorCode } from './file-refusal.ts'
import { globPattern } from './glob.ts'
import { type LineMatcher, newLineMatcher } from './line-matcher.ts'
import { openFolder, pathIn } from './open-folder.ts'
import { isTemporary } from './replace-file.ts'
import { excerptAround, MAX_FILE_BYTES, type SearchResult, SKIPPED_FOLDERS } from './search-limits.ts'
import { newSearchPattern } from './search-pattern.ts'
import { detectEncoding } from './text-encoding.ts'

export type SearchTask = {
  /** The open folder to search below, and the one file in it, if it is only that. */
  folder: FileHandle
  file: string | undefined
  question: FileSearchQuery
  maxMatches: number
  deadline: number
}

/** As ripgrep does it, where that is not there: the same files in the same order. */
export async function searchByWalking({
  folder,
  file,
  question,
  maxMatches,
  deadline,
}: SearchTask): Promise<SearchResult> {
  const glob = question.glob === undefined || file !== undefined ? undefined : globPattern(question.glob)
  const milliseconds = Math.max(1, deadline - Date.now())
  const matcher = newLineMatcher({ pattern: newSearchPattern(question), glob, milliseconds })
  const search: WalkState = { matcher, matches: [], maxMatches, deadline }
  try {
    const cutBy =
      file === undefined
        ? await lookBelow(folder, '', search)
        : await match(file, await orGone(textOf(pathIn(folder, file))), search)
    return { matches: search.matches.slice(0, maxMatches), ...defined({ cutBy }) }
  } finally {
    await matcher.end()
  }
}

type WalkState = Pick<SearchTask, 'maxMatches' | 'deadline'> & {
  matcher: LineMatcher
  matches: SearchResult['matches']
}

/** Undefined while there is more room and time. */
type CutReason = SearchResult['cutBy']

/** Deeper than anybody builds; each folder on the way is held open. */
const MOST_DEPTH = 128

async function lookBelow(folder: FileHandle, prefix: string, search: WalkState): Promise<CutReason> {
  const entries = (await readdir(pathIn(folder), { withFileTypes: true }))
    // A name that is no text cannot be given back.
    .filter(({ name }) => !name.includes('\uFFFD') && !isTemporary(name))
    .sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)))
  const folders = entries.filter((entry) => entry.isDirectory() && !SKIPPED_FOLDERS.includes(entry.name))
  const files = entries.filter((entry) => entry.isFile())
  const chosen = new Set<string>()
  for (const [kind, list] of [['files', files] as const, ['folders', folders] as const]) {
    const isChosen = await search.matcher.select(
      list.map(({ name }) => prefix + name),
      kind,
    )
    if (!isChosen) return 'time'
    for (const [index, { name }] of list.entries()) if (isChosen[index]) chosen.add(name)
  }
  const wanted = entries.filter(({ name }) => chosen.has(name))
  const texts = readAhead(folder, wanted)
  try {
    for (const [index, entry] of wanted.entries()) {
      if (Date.now() > search.deadline) return 'time'
      const path = prefix + entry.name
      const cut = entry.isFile() ? await match(path, await texts.at(index), search) : await enter(folder, path, search)
      if (cut) return cut
    }
    return undefined
  } finally {
    // The folder must stay open for as long as anything is being read by its number.
    await texts.end()
  }
}

const FILES_AHEAD = 8
const NOTHING = Promise.resolve(undefined)

/** While one file is matched the next ones are being read, up to the next folder. Only those are held. */
function readAhead(folder: FileHandle, entries: Dirent[]) {
  const reading: Promise<string | undefined>[] = []
  let used = 0
  return {
    at(index: number): Promise<string | undefined> {
      reading.fill(NOTHING, used, index)
      used = index
      while (reading.length < Math.min(entries.length, index + FILES_AHEAD)) {
        const entry = entries[reading.length]!
        if (!entry.isFile() && reading.length > index) break
        const text = entry.isFile() ? orGone(textOf(pathIn(folder, entry.name))) : NOTHING
        // Whoever comes to this file hears what was wrong with it.
        text.catch(() => {})
        reading.push(text)
      }
      return reading[index]!
    },
    end: () => Promise.allSettled(reading),
  }
}

async function enter(parent: FileHandle, path: string, search: WalkState): Promise<CutReason> {
  if (path.split('/').length > MOST_DEPTH) return undefined
  const folder = await orGone(openFolder(parent, basename(path)))
  if (!folder) return undefined
  try {
    return await lookBelow(folder, `${path}/`, search)
  } finally {
    await folder.close()
  }
}

async function match(path: string, text: string | undefined, search: WalkState): Promise<CutReason> {
  if (text === undefined) return undefined
  const found = await search.matcher.lines(text, search.maxMatches + 1 - search.matches.length)
  if (!found) return 'time'
  for (const { line, text, at } of found) search.matches.push({ path, line, text: excerptAround(text, at) })
  return search.matches.length > search.maxMatches ? 'matches' : undefined
}

const OPENED = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Undefined when it is too large or no text. */
async function textOf(path: string): Promise<string | undefined> {
  const file = await open(path, OPENED)
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return undefined
    const buffer = Buffer.allocUnsafe(stats.size)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    const bytes = buffer.subarray(0, bytesRead)
    const encoding = detectEncoding(bytes)
    const text = new TextDecoder(encoding === 'utf-8-marked' ? 'utf-8' : encoding).decode(bytes)
    return text.includes('\0') ? undefined : text
  } finally {
    await file.close()
  }
}

/** What others change, hide or remove while we walk is not there for us. */
const PASSED_OVER = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'EIO'])

async function orGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (PASSED_OVER.has(errorCode(error) ?? '')) return undefined
    throw error
  }
}
