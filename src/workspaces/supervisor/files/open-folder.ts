import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY

/** Paths of folders that are open, where /proc is not there to name them by number. */
const plainPaths = new WeakMap<FileHandle, string>()

/** The folder of the workspace, which whoever started us chose: it may be a link. */
export async function openRoot(path: string): Promise<FileHandle> {
  const handle = await open(path, FOLDER)
  plainPaths.set(handle, path)
  return handle
}

/** One folder below another that is open; never through a link. */
export async function openFolder(parent: FileHandle, name: string): Promise<FileHandle> {
  const path = pathIn(parent, name)
  const handle = await open(path, FOLDER | constants.O_NOFOLLOW)
  plainPaths.set(handle, path)
  return handle
}

/**
 * A path for the calls of the system that begins at an open folder, whatever was moved or linked on the way to it since.
 * Without /proc (no Linux, hence no sandbox either) it is the plain path.
 */
export function pathIn(folder: FileHandle, name?: string): string {
  const path = process.platform === 'linux' ? `/proc/self/fd/${folder.fd}` : plainPaths.get(folder)!
  return name === undefined ? path : `${path}/${name}`
}
