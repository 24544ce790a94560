import { chooseKillPoint } from './kill-point.ts'
import type { Life } from './life.ts'

/** How a process is ended; `ms` is the time before that. */
export type KillMode =
  | { type: 'at-call'; method: string; killAt: string }
  | { type: 'early' | 'late' | 'stopped'; ms: number }

export function chooseKillMode(fraction: () => number, nextMethod: () => string): KillMode {
  const chance = fraction()
  if (chance < 0.55) {
    const method = nextMethod()
    return { type: 'at-call', method, killAt: chooseKillPoint(method, fraction) }
  }
  if (chance < 0.65) return { type: 'early', ms: 100 + fraction() * 400 }
  if (chance < 0.7) return { type: 'stopped', ms: fraction() * 30 }
  return { type: 'late', ms: fraction() * 200 }
}

/** Each resolves with whether the process ended before the harness killed it. */
export const KILL_MODES: Record<KillMode['type'], (life: Life, way: KillMode) => Promise<boolean>> = {
  async 'at-call'(life, way) {
    await life.hears('ready')
    if (way.type === 'at-call' && way.method === 'runs.handBack') {
      await life.endsWithin(60)
      life.order('stop')
    }
    return life.endsWithin(400)
  },
  // Possibly during its own recovery: a death during recovery must be recovered, too.
  early: (life, way) => life.endsWithin(msOf(way)),
  // Not before it recovered, so that a slow recovery is measured.
  async late(life, way) {
    await life.hears('moving')
    return life.endsWithin(msOf(way))
  },
  async stopped(life, way) {
    await life.hears('ready')
    await life.endsWithin(60)
    life.order('stop')
    return life.endsWithin(msOf(way))
  },
}

/** A process that received a stop command may exit before it is killed. */
export const isAskedToStop = (way: KillMode): boolean =>
  way.type === 'stopped' || (way.type === 'at-call' && way.method === 'runs.handBack')

const msOf = (way: KillMode): number => (way.type === 'at-call' ? 0 : way.ms)

/** Every method is used once before one is used again. */
export function newShuffledCycle<T>(items: readonly T[], fraction: () => number): () => T {
  let left: T[] = []
  return () => {
    if (left.length === 0) left = [...items]
    return left.splice(Math.floor(fraction() * left.length), 1)[0]!
  }
}
