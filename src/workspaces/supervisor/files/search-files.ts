import type { FileQuestion, FoundInFiles } from '../../../ports/workspace-files.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { atPlace, type Place } from './find-place.ts'
import { notAFile, statAt } from './open-file.ts'
import { openFolder } from './open-folder.ts'
import { MOST_MATCHES, MOST_OF_FILE, SEARCH_MILLISECONDS, type SearchResult, USUAL_MATCHES } from './search-bounds.ts'
import { searchByRipgrep } from './search-by-ripgrep.ts'
import { type SearchTask, searchByWalking } from './search-by-walking.ts'
import { checkPattern } from './search-pattern.ts'

type SearchHome = {
  root: string
  /** Undefined where there is none. */
  ripgrep: string | undefined
  milliseconds?: number
}

export function searchFiles(home: SearchHome, question: FileQuestion): Promise<FoundInFiles> {
  checkPattern(question)
  const path = question.path ?? '.'
  const most = Math.min(MOST_MATCHES, Math.max(1, question.limit ?? USUAL_MATCHES))
  const deadline = Date.now() + (home.milliseconds ?? SEARCH_MILLISECONDS)
  return atPlace({ root: home.root, path }, (place) =>
    inFolder(place, path, async ({ prefix, ...where }) => {
      const { cutBy, matches } = await search(home.ripgrep, { ...where, question, most, deadline })
      const found = matches.map((match) => ({ ...match, path: prefix + match.path }))
      return { matches: found, isCut: cutBy !== undefined, ...(cutBy ? { cutBy } : {}) }
    }),
  )
}

/** One file is looked into by ourselves: ripgrep would follow whatever stands under its name by then. */
async function search(ripgrep: string | undefined, task: SearchTask): Promise<SearchResult> {
  const found = ripgrep && task.file === undefined ? await searchByRipgrep(ripgrep, task) : undefined
  return found ?? searchByWalking(task)
}

/** Where to begin, and what comes before the paths that are found. */
type Where = Pick<SearchTask, 'folder' | 'file'> & { prefix: string }

async function inFolder<T>(place: Place, path: string, work: (where: Where) => Promise<T>): Promise<T> {
  const { folder, name } = place
  if (name === undefined) return work({ folder, file: undefined, prefix: place.path === '' ? '' : `${place.path}/` })
  const stats = await statAt(place)
  if (!stats) throw new FileRefusal('missing', `There is no ${quoted(path)} to search.`)
  if (stats.isFile()) {
    if (stats.size > MOST_OF_FILE)
      throw new FileRefusal('too-large', `${quoted(path)} has ${stats.size} bytes; up to ${MOST_OF_FILE} are searched.`)
    return work({ folder, file: name, prefix: place.path.slice(0, place.path.length - name.length) })
  }
  if (!stats.isDirectory()) throw notAFile(path, stats)
  const below = await openFolder(folder, name)
  try {
    return await work({ folder: below, file: undefined, prefix: `${place.path}/` })
  } finally {
    await below.close()
  }
}
