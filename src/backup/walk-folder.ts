import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises'
import { type BytePath, bytePathOf, bytesOf } from './byte-path.ts'

export type FoundEntry =
  | { type: 'folder'; path: BytePath; stats: Stats }
  /** The handle is open until the next entry is asked for. */
  | { type: 'file'; path: BytePath; stats: Stats; handle: FileHandle }
  | { type: 'link'; path: BytePath; stats: Stats; target: BytePath }
  | { type: 'unreadable'; path: BytePath; detail: string }

type WalkOptions = {
  /** Path of the folder in the result. */
  path: BytePath
  isKept(path: BytePath): boolean
}

/** Each level holds a descriptor open. */
const MAX_DEPTH = 200
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants

/**
 * Everything in a folder, without following a link, also when an agent replaces a folder by a link meanwhile: each
 * entry is opened through the descriptor of its folder. Sockets, pipes and devices have no content and are left out.
 */
export async function* walkFolder(folder: string, { path, isKept }: WalkOptions): AsyncGenerator<FoundEntry> {
  const top = await open(folder, O_RDONLY | O_DIRECTORY)
  try {
    yield { type: 'folder', path, stats: await top.stat() }
    yield* inFolder({ handle: top, place: folder }, { path, depth: 1 })
  } finally {
    await top.close()
  }

  type OpenFolder = { handle: FileHandle; place: string }

  async function* inFolder(parent: OpenFolder, at: { path: BytePath; depth: number }): AsyncGenerator<FoundEntry> {
    const inside = bytePathOf(placeOf(parent))
    for (const name of (await readdir(bytesOf(inside), { encoding: 'buffer' })).map(bytePathOf).sort()) {
      const path = `${at.path}/${name}`
      if (!isKept(path)) continue
      try {
        yield* entry(`${inside}/${name}`, { path, depth: at.depth })
      } catch (fault) {
        const { code, message } = fault as NodeJS.ErrnoException
        // Removed since the folder was read: it is not part of this moment.
        if (code === 'ENOENT') continue
        if (code === undefined || !UNREADABLE.has(code)) throw fault
        yield { type: 'unreadable', path, detail: message }
      }
    }
  }

  async function* entry(
    place: BytePath,
    { path, depth }: { path: BytePath; depth: number },
  ): AsyncGenerator<FoundEntry> {
    const seen = await lstat(bytesOf(place))
    if (seen.isSymbolicLink()) {
      const target = bytePathOf(await readlink(bytesOf(place), { encoding: 'buffer' }))
      yield { type: 'link', path, stats: seen, target }
    } else if (seen.isDirectory()) {
      if (depth > MAX_DEPTH) throw Object.assign(new Error(`more than ${MAX_DEPTH} folders deep`), { code: 'ELOOP' })
      const handle = await open(bytesOf(place), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      try {
        yield { type: 'folder', path, stats: await handle.stat() }
        yield* inFolder({ handle, place: Buffer.from(place, 'latin1').toString() }, { path, depth: depth + 1 })
      } finally {
        await handle.close()
      }
    } else if (seen.isFile()) {
      const handle = await open(bytesOf(place), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      try {
        const stats = await handle.stat()
        if (stats.isFile()) yield { type: 'file', path, stats, handle }
      } finally {
        await handle.close()
      }
    }
  }
}

/** An agent decides about the permissions of its files; the rest of the backup must not depend on them. */
const UNREADABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ELOOP', 'ENOTDIR', 'ENAMETOOLONG', 'ENXIO'])

/** The path of an open folder. Only Linux has one that no rename changes; only there are workspaces. */
const placeOf = ({ handle, place }: { handle: FileHandle; place: string }): string =>
  process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : place
