import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The supervisor's program: its folder, which is all a sandbox sees of Holdfast, and the file to start in it. */
export type SupervisorProgram = { folder: string; entry: string }

/** It holds little, and there may be many of it. */
export const NODE_OPTIONS = [
  '--max-semi-space-size=1',
  '--max-old-space-size=128',
  '--v8-pool-size=1',
  '--no-warnings', // Else a command could send that signal, and then debug whoever watches over it. Older versions do not know the option.
  ...['--disable-sigusr1'].filter((option) => process.allowedNodeEnvironmentFlags.has(option)),
]

const BUILT = 'main.mjs'
let found: Promise<SupervisorProgram> | undefined

/** Published, it is one file beside this one. In a checkout it is made from the sources. */
export function findSupervisorProgram(): Promise<SupervisorProgram> {
  found ??= look().catch((fault) => {
    found = undefined
    throw fault
  })
  return found
}

async function look(): Promise<SupervisorProgram> {
  const built = fileURLToPath(new URL(`./supervisor/${BUILT}`, import.meta.url))
  if (existsSync(built)) return { folder: dirname(built), entry: BUILT }
  const sources = fileURLToPath(new URL('..', import.meta.url))
  const entry = 'workspaces/supervisor/main.ts'
  // Where there is no bundler or nothing can be written, Node runs the sources as they are.
  if (existsSync(join(sources, entry))) return bundled(sources).catch(() => ({ folder: sources, entry }))
  throw new Error('The program that keeps workspaces is missing beside this one: build or install Holdfast again.')
}

/**
 * One file of JavaScript, made once for each state of the sources. Left to each supervisor, stripping the types is most of its
 * memory (20 MB) and of the time it takes to start.
 */
async function bundled(sources: string): Promise<SupervisorProgram> {
  const names = globSync('{core,disk,ports,workspaces}/**/*.ts', { cwd: sources, exclude: ['**/*.test.ts'] })
  const hash = createHash('sha256').update(process.version)
  for (const name of names.sort()) hash.update(name).update(readFileSync(join(sources, name)))
  const cache = join(sources, '../node_modules/.cache/holdfast')
  const folder = join(cache, hash.digest('hex').slice(0, 16))
  if (!existsSync(folder)) {
    const beside = `${folder}.${process.pid}`
    const bundler = new URL('../../bundle.ts', import.meta.url).href
    const parameters = ['--no-warnings', '--input-type=module', '-e', BUNDLE, '--', bundler, beside]
    await promisify(execFile)(process.execPath, parameters, { env: {} })
    // Another process may have been first.
    await rename(beside, folder).catch(() => rm(beside, { recursive: true }))
  }
  return { folder, entry: BUILT }
}

// In a process of its own, so that the server never loads the bundler.
const BUNDLE = `
const [bundler, folder] = process.argv.slice(1)
const { bundleSupervisor } = await import(bundler)
await bundleSupervisor(folder)`
