import { type FileHandle, lstat, mkdir, readlink, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checkPath, MAX_FOLDERS } from './check-path.ts'
import { errorCode, FileRefusal, quoted } from './file-refusal.ts'
import { openFolder, openRoot, pathIn } from './open-folder.ts'

/** Where a path leads: a folder that is held open, and a name in it that is no symbolic link. */
export type ResolvedPath = {
  folder: FileHandle
  /** Undefined where the path names the folder itself. */
  name: string | undefined
  /** From the workspace's folder, without links; empty for that folder. */
  path: string
}

/** Where to begin, which way to go, and whether to make the folders on it. */
type ResolvePathOptions = { root: string; path: string; makeFolders?: boolean }

/** As in Linux: the links one path may lead through; also how often it may change under us. */
const MOST_TURNS = 40

/**
 * Walks there name by name through open folders, following links itself. Nothing is ever opened by a path of more than one
 * name, so a link that is swapped in meanwhile leads nowhere. The place is held while the work lasts.
 */
export async function withResolvedPath<T>(
  way: ResolvePathOptions,
  work: (resolved: ResolvedPath) => Promise<T>,
): Promise<T> {
  checkPath(way.path)
  const opened: FileHandle[] = []
  try {
    return await work(await walk(way, opened))
  } finally {
    await Promise.all(opened.map((handle) => handle.close()))
  }
}

type Folder = { handle: FileHandle; name: string }

async function walk(way: ResolvePathOptions, opened: FileHandle[]): Promise<ResolvedPath> {
  const real = await realpath(way.root)
  const top: Folder = { handle: await openRoot(way.root), name: '' }
  opened.push(top.handle)
  const steps = way.path.split('/')
  let turns = 0
  let folders = [top]
  /** Where the path stands while it is not in the workspace: only the way in is allowed, and nothing is looked at. */
  let above = way.path.startsWith('/') ? '/' : undefined
  /** Seen and no link, but not entered yet: only the last one may be something else than a folder. */
  let name: string | undefined

  while (steps.length > 0) {
    if (turns > MOST_TURNS) throw new FileRefusal('refused', `The path ${quoted(way.path)} goes in circles.`)
    const folder = folders.at(-1)!.handle
    if (above !== undefined) {
      above = join(above, steps.shift()!)
      if (above === way.root || above === real) [above, folders] = [undefined, [top]]
      else if (!isOnTheWay(above, way.root) && !isOnTheWay(above, real)) throw outside(way.path)
    } else if (name !== undefined) {
      const entered = await enter(folder, name, way)
      if (entered) {
        opened.push(entered)
        folders.push({ handle: entered, name })
      } else {
        turns += 1
        steps.unshift(name)
      }
      name = undefined
      if (folders.length > MAX_FOLDERS)
        throw new FileRefusal(
          'bad-path',
          `The path ${quoted(way.path)} leads through more than ${MAX_FOLDERS} folders.`,
        )
    } else {
      const step = steps.shift()!
      if (step === '' || step === '.') continue
      if (step === '..') {
        if (folders.length > 1) folders.pop()
        else above = dirname(real)
        continue
      }
      const target = await linkAt(folder, step)
      if (target === undefined) name = step
      else {
        turns += 1
        steps.unshift(...target.split('/'))
        if (target.startsWith('/')) above = '/'
      }
    }
  }
  if (above !== undefined) throw outside(way.path)
  const names = [...folders.map((folder) => folder.name), name ?? '']
  return { folder: folders.at(-1)!.handle, name, path: names.filter((one) => one !== '').join('/') }
}

/** Undefined when it is a link after all, or has just become one. */
async function enter(parent: FileHandle, name: string, way: ResolvePathOptions): Promise<FileHandle | undefined> {
  try {
    if (way.makeFolders) await makeFolder(pathIn(parent, name))
    return await openFolder(parent, name)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT')
      throw new FileRefusal('missing', `There is no folder ${quoted(name)} on the way to ${quoted(way.path)}.`)
    if (code !== 'ELOOP' && code !== 'ENOTDIR') throw error
    if ((await linkAt(parent, name)) !== undefined) return undefined
    throw new FileRefusal('not-a-file', `In the path ${quoted(way.path)}, ${quoted(name)} is not a folder.`)
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

/** Where a link leads; undefined when there is none of that name. */
async function linkAt(folder: FileHandle, name: string): Promise<string | undefined> {
  const path = pathIn(folder, name)
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined
  } catch (error) {
    const code = errorCode(error)
    // Gone, or no link any more: what is there now is found out by whoever opens it.
    if (code === 'ENOENT' || code === 'EINVAL') return undefined
    throw error
  }
}

const isOnTheWay = (above: string, root: string): boolean => above === '/' || root.startsWith(`${above}/`)

const outside = (path: string): FileRefusal =>
  new FileRefusal(
    'outside',
    `The path ${quoted(path)} leads out of the workspace. Give a path relative to the workspace, such as "src/main.py".`,
  )
