import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SYNTHETIC_ETC } from './bubblewrap.ts'

/** The folder with the files of /etc that sandboxes see, below the folder of all workspaces. */
export function writeSyntheticEtc(root: string): string {
  const etc = join(root, '.etc')
  mkdirSync(etc, { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries(SYNTHETIC_ETC)) {
    const file = join(etc, name)
    // Running sandboxes have this file mounted: do not rewrite it without need, it would be empty for a moment.
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text, { mode: 0o600 })
  }
  return etc
}
