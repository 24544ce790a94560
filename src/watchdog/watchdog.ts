import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Activity } from '../ports/activity.ts'
import { BEATS, NOTE_BYTES, NOTE_COUNT, NOTES, PROGRAM, SHARED_NUMBERS, type WatchdogData } from './watchdog-program.ts'

type Watchdog = Activity & { stop(): Promise<void> }

type WatchdogOptions = {
  home: string
  /** How long the event loop may stand still. */
  seconds: number
  report(fault: unknown, where: string): void
}

const MAX_TICK_MS = 1_000

/**
 * A thread that ends this process with SIGKILL when its event loop stands still: nothing else can be served then, and
 * signals are not seen. The next process takes over the runs and counts a death for each, as after every crash.
 */
export function startWatchdog({ home, seconds, report }: WatchdogOptions): Watchdog {
  const shared = new SharedArrayBuffer(SHARED_NUMBERS * 4 + NOTE_COUNT * NOTE_BYTES)
  const numbers = new Int32Array(shared, 0, SHARED_NUMBERS)
  const notes = Buffer.from(shared, SHARED_NUMBERS * 4)
  const tickMs = Math.min(MAX_TICK_MS, (seconds * 1_000) / 4)
  const workerData: WatchdogData = { shared, tickMs, seconds, file: freezeFile(home) }
  const worker = new Worker(PROGRAM, {
    eval: true,
    workerData,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  worker.unref()
  worker.on('error', (fault) => report(fault, 'the watchdog'))
  // Twice in a tick, so that a beat that comes late does not count as a tick.
  const beating = setInterval(() => Atomics.add(numbers, BEATS, 1), tickMs / 2)
  beating.unref()
  return {
    note(what) {
      const number = Atomics.load(numbers, NOTES)
      const start = (number % NOTE_COUNT) * NOTE_BYTES
      const length = notes.write(what, start, NOTE_BYTES - 1, 'utf8')
      notes[start + length] = 0
      Atomics.store(numbers, NOTES, number + 1)
    },
    async stop() {
      clearInterval(beating)
      await worker.terminate()
    },
  }
}

export const freezeFile = (home: string): string => join(home, 'last-freeze.json')
