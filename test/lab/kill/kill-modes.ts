import { chooseKillPoint } from './kill-point.ts'
import type { Life } from './life.ts'

/** How a life ends; `ms` is how long it is left alone first. */
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

/** Each resolves with whether the life ended before we had to end it. */
export const KILL_MODES: Record<KillMode['type'], (life: Life, way: KillMode) => Promise<boolean>> = {
  async 'at-call'(life, way) {
    await life.hears('ready')
    if (way.type === 'at-call' && way.method === 'runs.handBack') {
      await life.endsWithin(60)
      life.order('stop')
    }
    return life.endsWithin(400)
  },
  // Perhaps in the middle of its own recovery: a death of whoever recovers is recovered too.
  early: (life, way) => life.endsWithin(msOf(way)),
  // Not before it recovered, so that a slow recovery is measured and not cut off.
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

/** Who was asked to stop may be done before it is killed. */
export const isAskedToStop = (way: KillMode): boolean =>
  way.type === 'stopped' || (way.type === 'at-call' && way.method === 'runs.handBack')

const msOf = (way: KillMode): number => (way.type === 'at-call' ? 0 : way.ms)

/** Every method is struck before one is struck again. */
export function newShuffledCycle<T>(items: readonly T[], fraction: () => number): () => T {
  let left: T[] = []
  return () => {
    if (left.length === 0) left = [...items]
    return left.splice(Math.floor(fraction() * left.length), 1)[0]!
  }
}
