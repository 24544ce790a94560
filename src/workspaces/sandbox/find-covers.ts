import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { WorkspacesOptions } from '../workspaces-options.ts'
import { shownFolders } from './bubblewrap.ts'
import { foldersOfApplication, foldersOfHome, foldersToCover, readMounts } from './covered-folders.ts'

/** What a sandbox on this machine must cover now: the home, the workspaces of others, the program and its settings. */
export function findCovers({ home, folder }: Pick<WorkspacesOptions, 'home' | 'folder'>, supervisor: string): string[] {
  const found = [...new Set([home ?? folder, folder])].filter((path) => existsSync(path)).map(foldersOfHome)
  const [first, ...others] = found
  if (!first) return []
  const application = foldersOfApplication(fileURLToPath(import.meta.url), process.cwd())
  return foldersToCover({
    home: first.home,
    others: [...first.linked, ...others.flatMap((one) => [one.home]), ...application],
    shown: shownFolders(supervisor),
    mounts: readMounts(),
  })
}
