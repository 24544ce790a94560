import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { bundle } from '../bundle.ts'

const BUILDS = resolve('node_modules/.cache/holdfast-built')
const UNUSED_MS = 3_600_000

/**
 * The bundled command: tests start it hundreds of times, and it starts in a third of the time the source needs. Builds
 * are cached under the hash of their sources.
 */
export async function builtCommand(): Promise<string> {
  const target = join(BUILDS, hashOfSources())
  if (existsSync(target)) utimesSync(target, new Date(), new Date())
  else await build(target)
  return join(target, 'dist/main.js')
}

async function build(target: string): Promise<void> {
  mkdirSync(BUILDS, { recursive: true })
  const unfinished = `${target}.${process.pid}`
  await bundle({ command: 'src/main.ts' }, join(unfinished, 'dist'))
  copyFileSync('package.json', join(unfinished, 'package.json'))
  // Another test command may have finished the same build in the meantime.
  if (existsSync(target)) rmSync(unfinished, { recursive: true })
  else renameSync(unfinished, target)
  removeUnused()
}

/** Another test command may still be running an older build. */
function removeUnused(): void {
  for (const name of readdirSync(BUILDS)) {
    const folder = join(BUILDS, name)
    if (Date.now() - statSync(folder).mtimeMs > UNUSED_MS) rmSync(folder, { recursive: true, force: true })
  }
}

function hashOfSources(): string {
  const hash = createHash('sha256')
  const sources = globSync(['src/**/*.ts', 'console/**/*'], { exclude: ['src/**/*.test.ts'] })
    .filter((file) => statSync(file).isFile())
    .sort()
  const files = [...sources, 'bundle.ts', 'package-lock.json']
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(file)).update('\0')
  return hash.digest('hex').slice(0, 16)
}
