import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { missingProgram } from '../../harness/programs.ts'
import { type Check, checkAfterKills, type WorkerReport } from './check.ts'
import { type Life, startLife } from './life.ts'

/** One way to fill the disk. `skip` is the reason why this machine cannot run it. */
export type Filling = {
  skip: string | false
  /** Prepares the folder of the home and returns its cleanup. */
  prepare(home: string): () => void
  fill(life: Life, home: string): void
  makeRoom(life: Life, home: string): void
}

const REFUSALS = 20

/** Sends are refused while the disk is full; with free space every run continues and ends. */
export async function runDiskFull(filling: Filling, { seed, kill }: { seed: number; kill: 'never' | 'while-full' }) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-full-'))
  const home = join(folder, 'home')
  const effects = join(folder, 'effects.jsonl')
  mkdirSync(home)
  const takeAway = filling.prepare(home)
  const reports: WorkerReport[] = []
  const begin = (life: number) =>
    startLife({ home, effects, seed: seed * 10 + life, durability: 'strict', onReport: (line) => reports.push(line) })
  let life = begin(0)
  try {
    await need(life, 'watched')
    filling.fill(life, home)
    // More than once: a process that cannot write stays alive and keeps reporting it.
    let refusal = await need(life, 'refused', life.now())
    for (let more = 0; more < REFUSALS; more++) refusal = await need(life, 'refused', life.now())
    if (kill === 'while-full') {
      await life.kill()
      filling.makeRoom(life, home)
      life = begin(1)
      await need(life, 'ready')
    } else filling.makeRoom(life, home)
    const reportsWhileFull = reports.length
    await need(life, 'watched', life.now())
    life.order('drain')
    await need(life, 'idle')
    if (!(await life.endsWithin(10_000))) throw new Error(`the process did not close: ${life.errors()}`)
    await life.kill()
    // A chunk is stored before it is sent: while the disk is full, watchers of an ended run wait.
    const binding = reports.filter(({ what }, index) => what !== 'hung' || index >= reportsWhileFull)
    return { refusal, check: await checkAfterKills({ home, effects, reports: binding }) }
  } finally {
    await life.kill()
    takeAway()
    rmSync(folder, { recursive: true, force: true })
  }
}

export type DiskFull = { refusal: WorkerReport; check: Check }

async function need(life: Life, what: string, from = 0): Promise<WorkerReport> {
  const line = await life.hears(what, { from, withinMs: 30_000 })
  if (!line) throw new Error(`the process never reported "${what}": ${life.errors()}`)
  return line
}

/** The page limit of SQLite: the database cannot grow. */
export const byPages: Filling = {
  skip: false,
  prepare: () => () => {},
  fill: (life) => life.order('fill'),
  makeRoom: (life) => life.order('make-room'),
}

/** A file size limit of the process: no file can grow beyond the current log. */
export const byFileSize: Filling = {
  skip: missingProgram('prlimit'),
  prepare: () => () => {},
  fill(life, home) {
    const size = statSync(join(home, 'holdfast.db-wal')).size
    limitFiles(life, String(size))
  },
  makeRoom: (life) => life.isOver() || limitFiles(life, 'unlimited'),
}

const limitFiles = (life: Life, size: string) =>
  execFileSync('prlimit', ['--pid', String(life.pid()), `--fsize=${size}:unlimited`])

const DISK_BYTES = 24 * 1024 * 1024

/** A real file system without free space. */
export const bySmallDisk: Filling = {
  skip: mayMount() ? false : 'mounting a small disk needs the rights of root',
  prepare(home) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=0700`, 'holdfast-lab', home])
    return () => execFileSync('umount', [home])
  },
  fill: (_, home) => fillWith(join(home, 'filler')),
  makeRoom: (_, home) => rmSync(join(home, 'filler')),
}

/** Writes until the disk is full. */
function fillWith(file: string): void {
  try {
    writeFileSync(file, Buffer.alloc(DISK_BYTES))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mount-'))
  const isAllowed = works('mount', '-t', 'tmpfs', '-o', 'size=65536', 'holdfast-lab', folder)
  if (isAllowed) execFileSync('umount', [folder])
  rmSync(folder, { recursive: true })
  return isAllowed
}

function works(program: string, ...parameters: string[]): boolean {
  try {
    execFileSync(program, parameters, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
