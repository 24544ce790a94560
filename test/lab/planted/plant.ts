import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A deliberate bug, as a patch of one file. The lab must find it, or it would miss similar bugs. */
export type PlantedBug = {
  name: string
  /** Path below src/. */
  file: string
  find: string
  replace: string
  /** The simulation that must find it; without it, a day of turns. `feed` needs PostgreSQL. */
  lab?: 'imports' | 'gateway' | 'slack' | 'discord' | 'feed'
  /** A state so rare that the first seeds do not reach it: the seed at which the hunt begins. */
  from?: number
  /** The promise that the bug breaks. */
  breaks: string
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const COPIED = ['src', 'test/lab/simulator', 'test/harness', 'package.json']

const WORKERS = {
  turns: 'seed-worker.ts',
  imports: 'import-seed-worker.ts',
  gateway: 'gateway/gateway-seed-worker.ts',
  slack: 'gateway/gateway-seed-worker.ts',
  discord: 'gateway/gateway-seed-worker.ts',
  feed: 'feed-seed-worker.ts',
} as const

export type PlantedCopy = { worker: string; remove(): void }

/** Copies the sources and applies the patch to the copy. The working tree is not changed. */
export function plant(bug: PlantedBug): PlantedCopy {
  const patched = patch(bug)
  const home = mkdtempSync(join(tmpdir(), 'holdfast-planted-'))
  for (const path of COPIED) cpSync(join(ROOT, path), join(home, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
  writeFileSync(join(home, 'src', bug.file), patched)
  return {
    worker: join(home, 'test/lab/simulator', WORKERS[bug.lab ?? 'turns']),
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

/** The patched file. A patch that no longer applies throws: the code has changed. */
export function patch({ name, file, find, replace }: PlantedBug): string {
  const source = readFileSync(join(ROOT, 'src', file), 'utf8')
  const matches = source.split(find).length - 1
  if (matches !== 1) throw new Error(`the planted bug "${name}" matches src/${file} ${matches} times instead of once`)
  return source.replace(find, () => replace)
}
