import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The supervisor's program: its folder, which is all a sandbox gets to see of ours, and the file to start in it. */
export type SupervisorProgram = { folder: string; entry: string }

/** It holds little, and there may be many of it. */
export const NODE_OPTIONS = [
  ...['--max-semi-space-size=1', '--max-old-space-size=128', '--v8-pool-size=1', '--no-warnings'],
  // Else a command could send that signal, and then debug whoever watches over it. Older versions do not know the option.
  ...['--disable-sigusr1'].filter((option) => process.allowedNodeEnvironmentFlags.has(option)),
]

const BUILT = 'main.mjs'
let found: Promise<SupervisorProgram> | undefined

/** As it is published it is one file beside ours. In the repository it is a folder of sources. */
export function findSupervisor(): Promise<SupervisorProgram> {
  found ??= look().catch((fault) => {
    found = undefined
    throw fault
  })
  return found
}

async function look(): Promise<SupervisorProgram> {
  const built = fileURLToPath(new URL(`./supervisor/${BUILT}`, import.meta.url))
  if (existsSync(built)) return { folder: dirname(built), entry: BUILT }
  const sources = fileURLToPath(new URL('./supervisor', import.meta.url))
  // Where nothing can be written beside them they are run as they are.
  if (existsSync(sources)) return stripped(sources).catch(() => ({ folder: sources, entry: 'main.ts' }))
  throw new Error('The program that keeps workspaces is missing beside this one: build or install Holdfast again.')
}

/**
 * Sources without their types, made once for each state of them. Left to each supervisor, that is most of its memory (20 MB)
 * and of the time it takes to start.
 */
async function stripped(sources: string): Promise<SupervisorProgram> {
  const names = globSync('**/*.ts', { cwd: sources }).filter((name) => !name.endsWith('.test.ts'))
  const hash = createHash('sha256').update(process.version)
  for (const name of names.sort()) hash.update(name).update(readFileSync(join(sources, name)))
  const cache = fileURLToPath(new URL('../../node_modules/.cache/holdfast', import.meta.url))
  const folder = join(cache, hash.digest('hex').slice(0, 16))
  if (!existsSync(folder)) {
    const parameters = ['--no-warnings', '--input-type=module', '-e', STRIP, '--', sources, folder, ...names]
    await promisify(execFile)(process.execPath, parameters, { env: {} })
  }
  return { folder, entry: BUILT }
}

// In a process of its own: Node warns about its own function, once in each process that calls it.
const STRIP = `
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
const [sources, folder, ...names] = process.argv.slice(1)
const beside = folder + '.' + process.pid
for (const name of names) {
  const text = stripTypeScriptTypes(readFileSync(join(sources, name), 'utf8'))
  const file = join(beside, name.replace(/ts$/, 'mjs'))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text.replaceAll(/(from ['][.][^']*[.])ts[']/g, "$1mjs'"))
}
try { renameSync(beside, folder) } catch { rmSync(beside, { recursive: true }) }`
