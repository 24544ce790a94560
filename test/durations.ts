import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import type { TestsStream } from 'node:test'

const DURATIONS_FILE = resolve('node_modules/.cache/holdfast-test-durations.json')

type Durations = Record<string, number>

/**
 * Sorts files so that a run does not end on one long file: by the duration in an earlier run; without one, the files of
 * `test/`, which start processes, before the unit tests of `src/`.
 */
export function longestFirst(files: readonly string[]): string[] {
  const durations = read()
  const durationOf = (file: string) => durations[file] ?? (/(^|\/)test[-/]/.test(file) ? 1_000 : 0)
  return files.toSorted((a, b) => durationOf(b) - durationOf(a))
}

/** Stores the duration of each file for the next run. */
export function keepDurations(tests: TestsStream): void {
  const durations: Durations = {}
  tests.on('test:summary', ({ file, duration_ms }) => {
    if (file) durations[relative('.', file)] = Math.round(duration_ms)
  })
  tests.once('end', () => {
    mkdirSync(dirname(DURATIONS_FILE), { recursive: true })
    writeFileSync(DURATIONS_FILE, JSON.stringify({ ...read(), ...durations }, undefined, 2))
  })
}

function read(): Durations {
  try {
    return JSON.parse(readFileSync(DURATIONS_FILE, 'utf8')) as Durations
  } catch {
    // No run has ended here yet.
    return {}
  }
}
