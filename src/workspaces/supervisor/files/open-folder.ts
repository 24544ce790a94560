import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY

/** Paths of open folders, for systems without /proc. */
const plainPaths = new WeakMap<FileHandle, string>()

/** The folder of the workspace. The operator chose it, so it may be a link. */
export async function openRoot(path: string): Promise<FileHandle> {
  const handle = await open(path, FOLDER)
  plainPaths.set(handle, path)
  return handle
}

/** Opens a subfolder of an open folder; never through a link. */
export async function openFolder(parent: FileHandle, name: string): Promise<FileHandle> {
  const path = pathIn(parent, name)
  const handle = await open(path, FOLDER | constants.O_NOFOLLOW)
  plainPaths.set(handle, path)
  return handle
}

/**
 * A path that starts at an open folder, so that later moves or links above it do not matter. Without /proc (not Linux,
 * hence no sandbox either) it is the plain path.
 */
export function pathIn(folder: FileHandle, name?: string): string {
  const path = process.platform === 'linux' ? `/proc/self/fd/${folder.fd}` : plainPaths.get(folder)!
  return name === undefined ? path : `${path}/${name}`
}
