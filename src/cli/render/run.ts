import type { RunPhase } from '../../core/run.ts'
import type { Look } from '../terminal.ts'

export const PHASE_COLOR: Record<RunPhase, keyof Look['paint']> = {
  created: 'dim',
  running: 'cyan',
  waiting: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
}

export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`

/** Seconds below a minute, then minutes, hours and days. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} days`
}
