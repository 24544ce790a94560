import { mkdir, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * A private folder beside `path`, on the same disk, so that a rename out of it is atomic. Folders of killed processes
 * with the same purpose are removed first.
 */
export async function newWorkFolder(path: string): Promise<string> {
  const parent = dirname(path)
  const prefix = `.${basename(path)}.`
  for (const name of await readdir(parent)) {
    const pid = name.startsWith(prefix) ? /^(\d+)\.unfinished$/.exec(name.slice(prefix.length))?.[1] : undefined
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(parent, name), { recursive: true, force: true })
  }
  const folder = join(parent, `${prefix}${process.pid}.unfinished`)
  await mkdir(folder, { mode: 0o700 })
  return folder
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code === 'EPERM'
  }
}
