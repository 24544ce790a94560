import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The supervisor's program: its folder, the only part of Holdfast that a sandbox sees, and the file to start. */
export type SupervisorProgram = { folder: string; entry: string }

/** Small limits: a supervisor holds little data, and there may be many supervisors. */
export const NODE_OPTIONS = [
  '--max-semi-space-size=1',
  '--max-old-space-size=128',
  '--v8-pool-size=1',
  '--no-warnings',
  // Without it a command could send SIGUSR1 and debug its supervisor. Older versions of Node do not have the option.
  ...['--disable-sigusr1'].filter((option) => process.allowedNodeEnvironmentFlags.has(option)),
]

const BUILT = 'main.mjs'
let found: Promise<SupervisorProgram> | undefined

/** In a published package, a file beside this one. In a checkout, a bundle built from the sources. */
export function findSupervisorProgram(): Promise<SupervisorProgram> {
  found ??= locateProgram().catch((fault) => {
    found = undefined
    throw fault
  })
  return found
}

async function locateProgram(): Promise<SupervisorProgram> {
  const built = fileURLToPath(new URL(`./supervisor/${BUILT}`, import.meta.url))
  if (existsSync(built)) return { folder: dirname(built), entry: BUILT }
  const sources = fileURLToPath(new URL('..', import.meta.url))
  const entry = 'workspaces/supervisor/main.ts'
  // Without a bundler or a writable cache, Node runs the sources directly.
  if (existsSync(join(sources, entry))) return bundleProgram(sources).catch(() => ({ folder: sources, entry }))
  throw new Error(`The workspace supervisor is missing (${built}). Build or install Holdfast again.`)
}

/**
 * One JavaScript file, built once for each version of the sources. If each supervisor stripped the types itself, that
 * would be most of its memory (20 MB) and of its start time.
 */
async function bundleProgram(sources: string): Promise<SupervisorProgram> {
  const names = globSync('{core,disk,ports,workspaces}/**/*.ts', { cwd: sources, exclude: ['**/*.test.ts'] })
  const hash = createHash('sha256').update(process.version)
  for (const name of names.sort()) hash.update(name).update(readFileSync(join(sources, name)))
  const cache = join(sources, '../node_modules/.cache/holdfast')
  const folder = join(cache, hash.digest('hex').slice(0, 16))
  if (!existsSync(folder)) {
    const temporary = `${folder}.${process.pid}`
    const bundler = new URL('../../bundle.ts', import.meta.url).href
    const parameters = ['--no-warnings', '--input-type=module', '-e', BUNDLE, '--', bundler, temporary]
    await promisify(execFile)(process.execPath, parameters, { env: {} })
    // Another process may have been first.
    await rename(temporary, folder).catch(() => rm(temporary, { recursive: true }))
  }
  return { folder, entry: BUILT }
}

// In a separate process, so that the server never loads the bundler.
const BUNDLE = `
const [bundler, folder] = process.argv.slice(1)
const { bundleSupervisor } = await import(bundler)
await bundleSupervisor(folder)`
