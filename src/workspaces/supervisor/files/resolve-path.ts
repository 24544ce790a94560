import { type FileHandle, lstat, mkdir, readlink, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checkPath, MAX_FOLDERS } from './check-path.ts'
import { errorCode, FileRefusal, quoted } from './file-refusal.ts'
import { openFolder, openRoot, pathIn } from './open-folder.ts'

/** Where a path leads: an open folder, and a name in it that is not a symbolic link. */
export type ResolvedPath = {
  folder: FileHandle
  /** Undefined if the path names the folder itself. */
  name: string | undefined
  /** Relative to the workspace's folder, without links; empty for that folder. */
  path: string
}

/** `makeFolders`: create missing folders on the path. */
type ResolvePathOptions = { root: string; path: string; makeFolders?: boolean }

/** Symbolic links one path may follow, as in Linux; also how often the path may change during the walk. */
const MAX_LINKS = 40

/**
 * Walks the path name by name through open folders and follows links itself. It never opens a path of more than one
 * name, so a link that is swapped in meanwhile leads nowhere. The folders stay open during the work.
 */
export async function withResolvedPath<T>(
  options: ResolvePathOptions,
  work: (resolved: ResolvedPath) => Promise<T>,
): Promise<T> {
  checkPath(options.path)
  const opened: FileHandle[] = []
  try {
    return await work(await walk(options, opened))
  } finally {
    await Promise.all(opened.map((handle) => handle.close()))
  }
}

type Folder = { handle: FileHandle; name: string }

async function walk(options: ResolvePathOptions, opened: FileHandle[]): Promise<ResolvedPath> {
  const real = await realpath(options.root)
  const top: Folder = { handle: await openRoot(options.root), name: '' }
  opened.push(top.handle)
  const steps = options.path.split('/')
  let links = 0
  let folders = [top]
  /**
   * The path while it is outside the workspace: only ancestors of the workspace are allowed, and nothing is read there.
   */
  let outsidePath = options.path.startsWith('/') ? '/' : undefined
  /** A name that is not a link and not entered yet: only the last one may be something other than a folder. */
  let name: string | undefined

  while (steps.length > 0) {
    if (links > MAX_LINKS) throw new FileRefusal('refused', `The path ${quoted(options.path)} goes in circles.`)
    const folder = folders.at(-1)!.handle
    if (outsidePath !== undefined) {
      outsidePath = join(outsidePath, steps.shift()!)
      if (outsidePath === options.root || outsidePath === real) [outsidePath, folders] = [undefined, [top]]
      else if (!isAncestor(outsidePath, options.root) && !isAncestor(outsidePath, real))
        throw outsideError(options.path)
    } else if (name !== undefined) {
      const entered = await enter(folder, name, options)
      if (entered) {
        opened.push(entered)
        folders.push({ handle: entered, name })
      } else {
        links += 1
        steps.unshift(name)
      }
      name = undefined
      if (folders.length > MAX_FOLDERS)
        throw new FileRefusal(
          'bad-path',
          `The path ${quoted(options.path)} leads through more than ${MAX_FOLDERS} folders.`,
        )
    } else {
      const step = steps.shift()!
      if (step === '' || step === '.') continue
      if (step === '..') {
        if (folders.length > 1) folders.pop()
        else outsidePath = dirname(real)
        continue
      }
      const target = await readLinkAt(folder, step)
      if (target === undefined) name = step
      else {
        links += 1
        steps.unshift(...target.split('/'))
        if (target.startsWith('/')) outsidePath = '/'
      }
    }
  }
  if (outsidePath !== undefined) throw outsideError(options.path)
  const names = [...folders.map((folder) => folder.name), name ?? '']
  return { folder: folders.at(-1)!.handle, name, path: names.filter((one) => one !== '').join('/') }
}

/** Undefined if the name has become a link meanwhile. */
async function enter(parent: FileHandle, name: string, options: ResolvePathOptions): Promise<FileHandle | undefined> {
  try {
    if (options.makeFolders) await makeFolder(pathIn(parent, name))
    return await openFolder(parent, name)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT')
      throw new FileRefusal('missing', `There is no folder ${quoted(name)} on the way to ${quoted(options.path)}.`)
    if (code !== 'ELOOP' && code !== 'ENOTDIR') throw error
    if ((await readLinkAt(parent, name)) !== undefined) return undefined
    throw new FileRefusal('not-a-file', `In the path ${quoted(options.path)}, ${quoted(name)} is not a folder.`)
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

/** The target of a link; undefined if the name is not a link. */
async function readLinkAt(folder: FileHandle, name: string): Promise<string | undefined> {
  const path = pathIn(folder, name)
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined
  } catch (error) {
    const code = errorCode(error)
    // Removed, or not a link any more: opening it will show what it is now.
    if (code === 'ENOENT' || code === 'EINVAL') return undefined
    throw error
  }
}

const isAncestor = (above: string, root: string): boolean => above === '/' || root.startsWith(`${above}/`)

const outsideError = (path: string): FileRefusal =>
  new FileRefusal(
    'outside',
    `The path ${quoted(path)} leads out of the workspace. Give a path relative to the workspace, such as "src/main.py".`,
  )
