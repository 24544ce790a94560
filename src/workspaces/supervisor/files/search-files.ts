import { defined } from '../../../core/defined.ts'
import type { FileSearchQuery, FileSearchResult } from '../../../ports/workspace-files.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { notAFileError, statAt } from './open-file.ts'
import { openFolder } from './open-folder.ts'
import { type ResolvedPath, withResolvedPath } from './resolve-path.ts'
import { searchByRipgrep } from './search-by-ripgrep.ts'
import { type SearchTask, searchByWalking } from './search-by-walking.ts'
import {
  DEFAULT_MATCHES,
  MAX_FILE_BYTES,
  MAX_MATCHES,
  SEARCH_MILLISECONDS,
  type SearchResult,
} from './search-limits.ts'
import { requireLinePattern } from './search-pattern.ts'

type FileSearchDeps = {
  root: string
  /** Undefined if ripgrep is not installed. */
  ripgrep: string | undefined
  milliseconds?: number
}

export function searchFiles(deps: FileSearchDeps, query: FileSearchQuery): Promise<FileSearchResult> {
  requireLinePattern(query)
  const path = query.path ?? '.'
  const maxMatches = Math.min(MAX_MATCHES, Math.max(1, query.limit ?? DEFAULT_MATCHES))
  const deadline = Date.now() + (deps.milliseconds ?? SEARCH_MILLISECONDS)
  return withResolvedPath({ root: deps.root, path }, (resolved) =>
    withSearchStart(resolved, path, async ({ prefix, ...where }) => {
      const { cutBy, matches } = await search(deps.ripgrep, { ...where, query, maxMatches, deadline })
      const found = matches.map((match) => ({ ...match, path: prefix + match.path }))
      return { matches: found, isCut: cutBy !== undefined, ...defined({ cutBy }) }
    }),
  )
}

/** A single file is searched by the walker: ripgrep would follow a link that replaced it. */
async function search(ripgrep: string | undefined, task: SearchTask): Promise<SearchResult> {
  const found = ripgrep && task.file === undefined ? await searchByRipgrep(ripgrep, task) : undefined
  return found ?? searchByWalking(task)
}

/** Where the search starts, and the prefix of the resulting paths. */
type SearchStart = Pick<SearchTask, 'folder' | 'file'> & { prefix: string }

async function withSearchStart<T>(
  resolved: ResolvedPath,
  path: string,
  work: (where: SearchStart) => Promise<T>,
): Promise<T> {
  const { folder, name } = resolved
  if (name === undefined)
    return work({ folder, file: undefined, prefix: resolved.path === '' ? '' : `${resolved.path}/` })
  const stats = await statAt(resolved)
  if (!stats) throw new FileRefusal('missing', `There is no ${quoted(path)} to search.`)
  if (stats.isFile()) {
    if (stats.size > MAX_FILE_BYTES)
      throw new FileRefusal(
        'too-large',
        `${quoted(path)} has ${stats.size} bytes; up to ${MAX_FILE_BYTES} are searched.`,
      )
    return work({ folder, file: name, prefix: resolved.path.slice(0, resolved.path.length - name.length) })
  }
  if (!stats.isDirectory()) throw notAFileError(path, stats)
  const below = await openFolder(folder, name)
  try {
    return await work({ folder: below, file: undefined, prefix: `${resolved.path}/` })
  } finally {
    await below.close()
  }
}
