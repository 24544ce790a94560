import type { Clock } from '../../src/ports/clock.ts'

/**
 * Simulates a process that can be killed without ending the test: its dependencies answer only while it is alive. After
 * `kill` its pending promises never resolve, its timers never fire and its calls have no effect, as after kill -9.
 */
export type KillSwitch = { readonly isAlive: boolean; readonly signal: AbortSignal; kill(): void }

export function newKillSwitch(): KillSwitch {
  const death = new AbortController()
  return {
    get isAlive() {
      return !death.signal.aborted
    },
    signal: death.signal,
    kill: () => death.abort(),
  }
}

/** A clock whose timers end with the process, so that a killed process does not keep the test alive. */
export function killableClock(clock: Clock, life: KillSwitch): Clock {
  const sleep = (ms: number, signal?: AbortSignal) =>
    clock.sleep(ms, signal ? AbortSignal.any([signal, life.signal]) : life.signal)
  const every = (ms: number, task: () => void) => {
    const stop = clock.every(ms, task)
    life.signal.addEventListener('abort', stop)
    return stop
  }
  return killable({ ...clock, sleep, every }, life)
}

/** A new promise each time: a shared one would keep everything that waits for it in memory. */
const never = () => new Promise<never>(() => {})

/** A proxy that works until the kill. Plain values and synchronous results pass through. */
export function killable<T extends object>(target: T, life: KillSwitch): T {
  return new Proxy(target, {
    get(object, key) {
      const value = Reflect.get(object, key)
      if (typeof value === 'function')
        return (...parameters: unknown[]) => call(object, value as Callable, parameters, life)
      if (value !== null && typeof value === 'object' && !(value instanceof AbortSignal)) return killable(value, life)
      return value
    },
  })
}

type Callable = (...parameters: unknown[]) => unknown

function call(object: object, method: Callable, parameters: unknown[], life: KillSwitch): unknown {
  if (!life.isAlive) return never()
  const answer = method.apply(
    object,
    parameters.map((parameter) =>
      typeof parameter === 'function' ? whileAlive(parameter as Callable, life) : parameter,
    ),
  )
  if (answer instanceof Promise) return untilKilled(answer, life)
  if (answer !== null && typeof answer === 'object' && Symbol.asyncIterator in answer)
    return killableIterable(answer as AsyncIterable<unknown>, life)
  if (answer !== null && typeof answer === 'object') return killable(answer, life)
  return answer
}

const whileAlive =
  (task: Callable, life: KillSwitch) =>
  (...parameters: unknown[]) =>
    life.isAlive ? task(...parameters) : undefined

function untilKilled<T>(promise: Promise<T>, life: KillSwitch): Promise<T> {
  return promise.then(
    (value) => (life.isAlive ? (wrapped(value, life) as T) : never()),
    (error) => {
      if (life.isAlive) throw error
      return never()
    },
  )
}

/** Objects with methods (an opened stream, say) become killable too; rows are left as they are. */
function wrapped(value: unknown, life: KillSwitch): unknown {
  const hasMethods =
    value !== null && typeof value === 'object' && Object.values(value).some((field) => typeof field === 'function')
  return hasMethods ? killable(value as object, life) : value
}

async function* killableIterable<T>(source: AsyncIterable<T>, life: KillSwitch): AsyncGenerator<T> {
  for await (const item of source) {
    if (!life.isAlive) await never()
    yield item
    if (!life.isAlive) await never()
  }
}
