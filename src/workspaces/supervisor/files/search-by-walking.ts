import type { Dirent } from 'node:fs'
import { type FileHandle, readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { defined } from '../../../core/defined.ts'
import type { FileSearchQuery } from '../../../ports/workspace-files.ts'
import { globPattern } from './glob.ts'
import { type LineMatcher, newLineMatcher } from './line-matcher.ts'
import { openFolder, pathIn } from './open-folder.ts'
import { isTemporary } from './replace-file.ts'
import { excerptAround, type SearchResult, SKIPPED_FOLDERS } from './search-limits.ts'
import { newSearchPattern } from './search-pattern.ts'
import { ignoreUnreadable, readText } from './search-text.ts'

export type SearchTask = {
  /** The open folder to search, and a file in it if only that is searched. */
  folder: FileHandle
  file: string | undefined
  query: FileSearchQuery
  maxMatches: number
  deadline: number
}

/** Searches without ripgrep: the same files in the same order. */
export async function searchByWalking({
  folder,
  file,
  query,
  maxMatches,
  deadline,
}: SearchTask): Promise<SearchResult> {
  const glob = query.glob === undefined || file !== undefined ? undefined : globPattern(query.glob)
  const timeoutMs = Math.max(1, deadline - Date.now())
  const matcher = newLineMatcher({ pattern: newSearchPattern(query), glob, timeoutMs })
  const search: WalkState = { matcher, matches: [], maxMatches, deadline }
  try {
    const cutBy =
      file === undefined
        ? await searchFolder(folder, '', search)
        : await matchFile(file, await ignoreUnreadable(readText(pathIn(folder, file))), search)
    return { matches: search.matches.slice(0, maxMatches), ...defined({ cutBy }) }
  } finally {
    await matcher.end()
  }
}

type WalkState = Pick<SearchTask, 'maxMatches' | 'deadline'> & {
  matcher: LineMatcher
  matches: SearchResult['matches']
}

/** Why the search stopped early; undefined if it did not. */
type CutReason = SearchResult['cutBy']

/** Each folder on the path is held open; real trees are not this deep. */
const MAX_DEPTH = 128

async function searchFolder(folder: FileHandle, prefix: string, search: WalkState): Promise<CutReason> {
  const entries = (await readdir(pathIn(folder), { withFileTypes: true }))
    // A file name that is not valid text cannot be returned.
    .filter(({ name }) => !name.includes('\uFFFD') && !isTemporary(name))
    .sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)))
  const folders = entries.filter((entry) => entry.isDirectory() && !SKIPPED_FOLDERS.includes(entry.name))
  const files = entries.filter((entry) => entry.isFile())
  const chosen = new Set<string>()
  for (const [kind, list] of [['files', files] as const, ['folders', folders] as const]) {
    const selected = await search.matcher.select(
      list.map(({ name }) => prefix + name),
      kind,
    )
    if (!selected) return 'time'
    for (const [index, { name }] of list.entries()) if (selected[index]) chosen.add(name)
  }
  const wanted = entries.filter(({ name }) => chosen.has(name))
  const texts = readAhead(folder, wanted)
  try {
    for (const [index, entry] of wanted.entries()) {
      if (Date.now() > search.deadline) return 'time'
      const path = prefix + entry.name
      const cut = entry.isFile()
        ? await matchFile(path, await texts.at(index), search)
        : await searchSubfolder(folder, path, search)
      if (cut) return cut
    }
    return undefined
  } finally {
    // The folder must stay open while files are read through its descriptor.
    await texts.end()
  }
}

const FILES_AHEAD = 8
const NOTHING = Promise.resolve(undefined)

/** Reads the next files, up to the next folder, while one is matched. */
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
        const text = entry.isFile() ? ignoreUnreadable(readText(pathIn(folder, entry.name))) : NOTHING
        // The error is thrown when this file is awaited; until then it must not be an unhandled rejection.
        text.catch(() => {})
        reading.push(text)
      }
      return reading[index]!
    },
    end: () => Promise.allSettled(reading),
  }
}

async function searchSubfolder(parent: FileHandle, path: string, search: WalkState): Promise<CutReason> {
  if (path.split('/').length > MAX_DEPTH) return undefined
  const folder = await ignoreUnreadable(openFolder(parent, basename(path)))
  if (!folder) return undefined
  try {
    return await searchFolder(folder, `${path}/`, search)
  } finally {
    await folder.close()
  }
}

async function matchFile(path: string, text: string | undefined, search: WalkState): Promise<CutReason> {
  if (text === undefined) return undefined
  const found = await search.matcher.lines(text, search.maxMatches + 1 - search.matches.length)
  if (!found) return 'time'
  for (const { line, text, at } of found) search.matches.push({ path, line, text: excerptAround(text, at) })
  return search.matches.length > search.maxMatches ? 'matches' : undefined
}
