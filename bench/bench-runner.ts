import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Job, Measurement } from './side.ts'

export type SideName = 'bare' | 'engine'

/** A side did not do its work: the only reason for the command to fail. */
export class SideFailed extends Error {}

export type BenchRunner = {
  /** A new empty folder, removed by `close`. */
  folder(): string
  /** Runs one job in a new process, from plain JavaScript. */
  measure(side: SideName, job: JobSpec): Promise<Measurement>
  /** The same; returns the time from spawn to the first line of output. */
  timeToFirstLine(side: SideName, job: JobSpec): Promise<{ ms: number; result: Measurement }>
  /** Runs a job that kills itself in mid-turn. */
  crash(side: SideName, job: JobSpec): Promise<void>
  close(): void
}

/** A job without the fields that all jobs share. */
type JobSpec = Job extends infer J ? (J extends Job ? Omit<J, 'source' | 'dist'> : never) : never

/** Starts the model source, and sides that use it. */
export async function openBenchRunner(): Promise<BenchRunner> {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const plain = stripBench(join(root, 'plain'))
  const source = spawn(process.execPath, [inBench('sse-source.ts')], { stdio: ['ignore', 'pipe', 'inherit'] })
  const address = await firstLine(source)
  const dist = process.env.BENCH_DIST ?? new URL('../bench-dist/', import.meta.url).href

  function start(side: SideName, job: JobSpec): ChildProcess {
    const flags = [
      ...(process.env.BENCH_NODE_FLAGS?.split(' ') ?? []),
      ...(job.type === 'idle' || job.type === 'touched' ? ['--expose-gc'] : []),
    ]
    const argument = JSON.stringify({ ...job, source: address, dist })
    return spawn(process.execPath, [...flags, join(plain, `${side}-side.js`), argument], {
      stdio: ['ignore', 'pipe', 'inherit'],
      // A compile cache for both sides, as the command has from its second start on.
      env: { ...process.env, NODE_COMPILE_CACHE: join(root, 'compiled') },
    })
  }

  return {
    folder: () => mkdtempSync(join(root, 'home-')),
    async measure(side, job) {
      const child = start(side, job)
      return resultOf(side, await linesOf(child, side))
    },
    async timeToFirstLine(side, job) {
      const from = performance.now()
      const child = start(side, job)
      let ms = 0
      child.stdout!.once('data', () => {
        ms = performance.now() - from
      })
      return { result: resultOf(side, await linesOf(child, side)), ms }
    },
    async crash(side, job) {
      const child = start(side, job)
      const signal = await new Promise((resolve) => child.once('close', (_, by) => resolve(by)))
      if (signal !== 'SIGKILL') throw new SideFailed(`the ${side} side was to be killed in mid-turn and was not`)
    },
    close() {
      source.kill()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

const inBench = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/** Compiles the bench to JavaScript, so that type stripping counts for neither side. */
function stripBench(folder: string): string {
  const bench = fileURLToPath(new URL('.', import.meta.url))
  const target = mkdtempSync(`${folder}-`)
  symlinkSync(fileURLToPath(new URL('../node_modules', import.meta.url)), join(target, 'node_modules'))
  writeFileSync(join(target, 'package.json'), '{"type":"module"}')
  const strip = (file: string, name: string) => {
    const script = stripTypeScriptTypes(readFileSync(file, 'utf8'))
      .replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'")
      .replaceAll("from '../src/core/defined.ts'", "from './defined.js'")
    writeFileSync(join(target, name), script)
  }
  for (const file of readdirSync(bench).filter((name) => name.endsWith('.ts')))
    strip(join(bench, file), file.replace(/\.ts$/, '.js'))
  // The only file of src/ that the sides import at run time.
  strip(join(bench, '../src/core/defined.ts'), 'defined.js')
  return target
}

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line
  throw new SideFailed('the source did not start')
}

function linesOf(child: ChildProcess, side: SideName): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout!.on('data', (bytes: Buffer) => {
      text += bytes.toString()
    })
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(text.trim().split('\n'))
      reject(new SideFailed(`the ${side} side ended with ${signal ?? code}`))
    })
  })
}

function resultOf(side: SideName, lines: string[]): Measurement {
  try {
    return JSON.parse(lines.at(-1)!) as Measurement
  } catch {
    throw new SideFailed(`the ${side} side printed no result: ${lines.at(-1)}`)
  }
}
