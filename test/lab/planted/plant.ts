import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A bug we make on purpose, as a patch of one file: a lab that does not find it would not find the like of it. */
export type PlantedBug = {
  name: string
  /** Below src/. */
  file: string
  find: string
  replace: string
  /** The promise it breaks, in words. */
  breaks: string
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const COPIED = ['src', 'test/lab/simulator', 'test/harness', 'package.json']

export type PlantedCopy = { worker: string; remove(): void }

/** A copy of the sources with the bug in it. The product has no switch for it, and the working tree is not touched. */
export function plant(bug: PlantedBug): PlantedCopy {
  const patched = patch(bug)
  const home = mkdtempSync(join(tmpdir(), 'holdfast-planted-'))
  for (const path of COPIED) cpSync(join(ROOT, path), join(home, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
  writeFileSync(join(home, 'src', bug.file), patched)
  return {
    worker: join(home, 'test/lab/simulator/seed-worker.ts'),
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

/** The file with the bug in it. A patch that no longer fits is a failure: the code has moved on without it. */
export function patch({ name, file, find, replace }: PlantedBug): string {
  const source = readFileSync(join(ROOT, 'src', file), 'utf8')
  const places = source.split(find).length - 1
  if (places !== 1) throw new Error(`the planted bug "${name}" fits ${places} places of src/${file}, not one`)
  return source.replace(find, () => replace)
}
