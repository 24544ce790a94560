import type { Clock } from '../ports/clock.ts'
import { StorageError } from '../ports/storage-error.ts'

const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 2_000

/**
 * Retries the work with exponential backoff while the store reports a transient fault (full disk, lost connection), so
 * that a turn in memory is not lost. `isRetry` is true from the second try on.
 */
export async function retryWhileTransient<T>(
  work: (isRetry: boolean) => Promise<T>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T> {
  let isRetry = false
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      return await work(isRetry)
    } catch (fault) {
      if (!(fault instanceof StorageError) || !fault.isTransient || signal.aborted) throw fault
      isRetry = true
      await clock.sleep(pause, signal)
    }
  }
}

/** `retryWhileTransient` with clock and signal bound, for one turn. */
export type StoreRetry = <T>(work: () => Promise<T>) => Promise<T>
