import { Worker } from 'node:worker_threads'
import type { FetchedPage } from './page-kind.ts'
import type { ReadablePage } from './read-page.ts'

const DEADLINE_MS = 20_000
const MEMORY_MB = 512

/** `isComplete`: the thread has ended its work and can read the next page. */
type Answer = { page: ReadablePage; isComplete: boolean }

/** A thread that reads one page after another. */
export type PageThread = {
  read(page: FetchedPage, signal: AbortSignal): Promise<Answer>
  /** Waits for the next page without keeping the process alive, and ends after `ms`. */
  rest(ms: number, onEnd: () => void): void
  /** False if it has ended meanwhile. */
  wake(): boolean
  end(): void
}

export function startPageThread(): PageThread {
  const worker = new Worker(workerFile(), { env: {}, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } })
  let hasEnded = false
  let settle: ((answer: Answer) => void) | undefined
  let restTimer: NodeJS.Timeout | undefined
  const giveUp = (fault: string) => settle?.({ page: { fault }, isComplete: false })
  worker.on('message', (page: ReadablePage) => settle?.({ page, isComplete: true }))
  worker.on('error', (error) => giveUp(`It could not be read: ${(error as Error).message}`))
  worker.on('exit', () => {
    hasEnded = true
    giveUp('It could not be read: its reader ended.')
  })

  const end = () => {
    hasEnded = true
    void worker.terminate()
  }

  return {
    async read(page, signal) {
      const { promise, resolve } = Promise.withResolvers<Answer>()
      settle = resolve
      const stop = () => giveUp('It was not read: the call was stopped.')
      const timer = setTimeout(() => giveUp(`It could not be read within ${DEADLINE_MS / 1_000} s.`), DEADLINE_MS)
      signal.addEventListener('abort', stop)
      worker.postMessage(page)
      const answer = await promise
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      return answer
    },
    rest(ms, onEnd) {
      worker.unref()
      restTimer = setTimeout(() => {
        end()
        onEnd()
      }, ms).unref()
    },
    wake() {
      clearTimeout(restTimer)
      worker.ref()
      return !hasEnded
    },
    end,
  }
}

/** TypeScript in a checkout; in the package a file beside the bundle. */
const workerFile = (): URL =>
  new URL(import.meta.url.endsWith('.ts') ? './page-worker.ts' : './page-worker.js', import.meta.url)
