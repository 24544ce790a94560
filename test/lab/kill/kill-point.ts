import type { Store } from '../../../src/ports/store.ts'

/** `events.append:7:before`: die at the seventh call of that method, before or after it has done its work. */
export type KillPoint = { method: string; count: number; side: 'before' | 'after' }

export const KILLABLE_METHODS = [
  'events.append',
  'runs.open',
  'runs.claimNext',
  'runs.takeOver',
  'runs.continueAfterApproval',
]

export function parseKillPoint(text: string): KillPoint {
  const [method, count, side] = text.split(':')
  if (!method || !KILLABLE_METHODS.includes(method) || !Number(count) || (side !== 'before' && side !== 'after'))
    throw new Error(`not a kill point: ${text}`)
  return { method, count: Number(count), side }
}

/** A store that ends the whole process, as kill -9 does, at one exact call. */
export function killableStore(store: Store, { method, count, side }: KillPoint): Store {
  const [room, name] = method.split('.') as ['events' | 'runs', string]
  let calls = 0
  const target = store[room] as unknown as Record<string, (...parameters: unknown[]) => Promise<unknown>>
  const wrapped = async (...parameters: unknown[]) => {
    const isDue = ++calls === count
    if (isDue && side === 'before') process.kill(process.pid, 'SIGKILL')
    const answer = await target[name]!(...parameters)
    if (isDue && side === 'after') process.kill(process.pid, 'SIGKILL')
    return answer
  }
  return { ...store, [room]: { ...target, [name]: wrapped } }
}
