import { INTERRUPTED, TERMINATED } from './exit-codes.ts'
import { onSignals } from './signals.ts'

/** Runs work that a signal aborts; the exit code is then that of the signal. */
export async function stoppable(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const stopping = new AbortController()
  let exit: number | undefined
  const stop = (code: number) => () => {
    exit = code
    stopping.abort()
  }
  const forget = onSignals({ interrupt: stop(INTERRUPTED), terminate: stop(TERMINATED) })
  try {
    const code = await work(stopping.signal)
    return exit ?? code
  } catch (fault) {
    if (exit === undefined) throw fault
    return exit
  } finally {
    forget()
  }
}
