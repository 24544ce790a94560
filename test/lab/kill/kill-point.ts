import type { Part } from '../../../src/core/answer.ts'
import type { ModelProvider } from '../../../src/ports/model.ts'
import type { Store } from '../../../src/ports/store.ts'

/** `events.append:7:before`: die at the seventh call of that method, before or after it has done its work. */
export type KillPoint = { method: string; count: number; side: 'before' | 'after' }

/** Calls at which a death may matter, with their usual number in a short life. */
const CALLS_IN_A_LIFE: Record<string, number> = {
  'events.append': 60,
  'events.read': 6,
  'runs.open': 8,
  'runs.claimNext': 6,
  'runs.takeOver': 4,
  'runs.continueAfterApproval': 3,
  'runs.handBack': 3,
  'workers.beat': 1,
  'messages.context': 8,
  'chunks.append': 40,
  'tool.effect': 8,
  'model.part': 60,
}

export const KILLABLE_METHODS = Object.keys(CALLS_IN_A_LIFE)

export function chooseKillPoint(method: string, fraction: () => number): string {
  const count = 1 + Math.floor(fraction() * CALLS_IN_A_LIFE[method]!)
  return `${method}:${count}:${fraction() < 0.5 ? 'before' : 'after'}`
}

export function parseKillPoint(text: string): KillPoint {
  const [method, count, side] = text.split(':')
  if (!method || !KILLABLE_METHODS.includes(method) || !Number(count) || (side !== 'before' && side !== 'after'))
    throw new Error(`not a kill point: ${text}`)
  return { method, count: Number(count), side }
}

/** Kills the process, as kill -9 does, at one exact call. Without a kill point it does nothing. */
export type Trap = {
  enter(method: string): Crossing
  around<T>(method: string, work: () => Promise<T>): Promise<T>
}
type Crossing = { leave(): void }

export function newTrap(point: KillPoint | undefined): Trap {
  let calls = 0
  const die = () => process.kill(process.pid, 'SIGKILL')
  const enter = (method: string): Crossing => {
    const isDue = point?.method === method && ++calls === point.count
    if (isDue && point.side === 'before') die()
    return { leave: () => isDue && point.side === 'after' && die() }
  }
  return {
    enter,
    async around(method, work) {
      const crossing = enter(method)
      const answer = await work()
      crossing.leave()
      return answer
    },
  }
}

/** A store whose calls pass through the trap. */
export function trappedStore(store: Store, trap: Trap): Store {
  const trapped = <Room extends object>(name: string, room: Room): Room => {
    const methods = Object.entries(room).map(([method, work]) => {
      const call = `${name}.${method}`
      if (!KILLABLE_METHODS.includes(call)) return [method, work]
      return [method, (...parameters: unknown[]) => trap.around(call, () => work(...parameters))]
    })
    return Object.fromEntries(methods) as Room
  }
  return {
    ...store,
    events: trapped('events', store.events),
    runs: trapped('runs', store.runs),
    messages: trapped('messages', store.messages),
    workers: trapped('workers', store.workers),
  }
}

/** A model whose parts pass through the trap one by one. */
export const trappedModel = (model: ModelProvider, trap: Trap): ModelProvider => ({
  async *stream(request, options): AsyncGenerator<Part> {
    for await (const part of model.stream(request, options)) {
      const crossing = trap.enter('model.part')
      yield part
      crossing.leave()
    }
  },
})
