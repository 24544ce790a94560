import { signal } from '@preact/signals'

/** Less is the way of the answer, and the header counts whole seconds. */
const MIN_SKEW_MS = 30_000

/** How far the clock of this computer is behind that of the server, if it is wrong. */
export const skew = signal(0)

/** By the clock of the server: its dates are compared with it. */
export const present = (): number => Date.now() + skew.value

/** Told with each answer. */
export function noteServerTime(date: string | null): void {
  const behind = date === null ? 0 : Date.parse(date) - Date.now()
  const next = Math.abs(behind) < MIN_SKEW_MS ? 0 : behind
  if (Math.abs(next - skew.value) < MIN_SKEW_MS) return
  skew.value = next
  now.value = present()
}

/** The present, once a second, for ages and countdowns. A hidden tab has no timer. */
export const now = signal(Date.now())
let ticking: ReturnType<typeof setInterval> | undefined
function tickWhileVisible(): void {
  clearInterval(ticking)
  now.value = present()
  if (!document.hidden)
    ticking = setInterval(() => {
      now.value = present()
    }, 1_000)
}
document.addEventListener('visibilitychange', tickWhileVisible)
tickWhileVisible()

const UNITS: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** `3 min`, `2 h`, `5 d`: the largest unit that fits. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  const [unit, size] = UNITS.find(([, one]) => ms >= one)!
  return `${Math.floor(ms / size)} ${unit}`
}

export const ageOf = (date: string): string => {
  const ms = now.value - Date.parse(date)
  // A clock that is wrong must not show an age below zero.
  return ms < 5_000 ? 'just now' : `${duration(ms)} ago`
}

export const clockTime = (date: string): string => new Date(date).toLocaleString()
