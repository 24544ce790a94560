import { readFileSync } from 'node:fs'

/** Of the main thread of a process: how long it ran, and how long it could have run and had no processor. */
export type ProcessorTimes = { ranMs: number; waitedMs: number }

/** Zero where the system does not tell. */
export function processorTimes(pid: number): ProcessorTimes {
  try {
    const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ').map(Number)
    return { ranMs: (ran ?? 0) / 1e6, waitedMs: (waited ?? 0) / 1e6 }
  } catch {
    return { ranMs: 0, waitedMs: 0 }
  }
}

export const timesBetween = (from: ProcessorTimes, to: ProcessorTimes): ProcessorTimes => ({
  ranMs: to.ranMs - from.ranMs,
  waitedMs: to.waitedMs - from.waitedMs,
})
