import type { Dirent } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import type { FolderEntry, ListedFolder } from '../../../ports/workspace-files.ts'
import { LAST_INSTANT } from '../../file-protocol.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { notAFileError, statAt } from './open-file.ts'
import { openFolder, pathIn } from './open-folder.ts'
import { withResolvedPath } from './resolve-path.ts'

/** An agent may make millions of files: no more are read than are listed. */
const MAX_ENTRIES = 1_000

/** The names in a folder, folders first. Of a link it says that it is one, and nothing of where it leads. */
export function listFolder(root: string, path: string): Promise<ListedFolder> {
  return withResolvedPath({ root, path }, async (resolved) => {
    const { folder, name } = resolved
    if (name === undefined) return { path: resolved.path, ...(await readEntries(pathIn(folder))) }
    const stats = await statAt(resolved)
    if (!stats) throw new FileRefusal('missing', `There is no folder ${quoted(path)}.`)
    if (stats.isFile()) throw new FileRefusal('not-a-file', `${quoted(path)} is a file and not a folder.`)
    if (!stats.isDirectory()) throw notAFileError(path, stats)
    const below = await openFolder(folder, name)
    try {
      return { path: resolved.path, ...(await readEntries(pathIn(below))) }
    } finally {
      await below.close()
    }
  })
}

async function readEntries(folder: string): Promise<Pick<ListedFolder, 'entries' | 'isCut'>> {
  const entries: FolderEntry[] = []
  for await (const entry of await opendir(folder)) {
    if (entries.length === MAX_ENTRIES) return { entries: entries.sort(byKindAndName), isCut: true }
    const described = await describe(folder, entry)
    if (described) entries.push(described)
  }
  return { entries: entries.sort(byKindAndName), isCut: false }
}

/** Undefined if it was removed meanwhile. */
async function describe(folder: string, { name }: Dirent): Promise<FolderEntry | undefined> {
  const stats = await lstat(`${folder}/${name}`).catch(() => undefined)
  // A name that is not text is shown as far as it can be, and cannot be opened.
  if (!stats) return name.includes('\uFFFD') ? { name, kind: 'other', bytes: 0, changedAt: 0 } : undefined
  const { size, mtimeMs } = stats
  const changedAt = Math.min(LAST_INSTANT, Math.max(0, Math.floor(mtimeMs)))
  return { name, kind: kindOf(stats), bytes: Math.min(size, Number.MAX_SAFE_INTEGER), changedAt }
}

type Kinds = Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>

function kindOf(stats: Kinds): FolderEntry['kind'] {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'folder'
  return stats.isSymbolicLink() ? 'link' : 'other'
}

const rank = ({ kind }: FolderEntry): number => (kind === 'folder' ? 0 : 1)

const byKindAndName = (one: FolderEntry, other: FolderEntry): number =>
  rank(one) - rank(other) || (one.name < other.name ? -1 : 1)
