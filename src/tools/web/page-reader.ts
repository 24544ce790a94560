import { Worker } from 'node:worker_threads'
import type { FetchedPage, ReadablePage } from './read-page.ts'

/** Reads a page in a thread of its own, so that no page can hold the server. */
export type PageReader = (page: FetchedPage, signal: AbortSignal) => Promise<ReadablePage>

const DEADLINE_MS = 20_000
const MEMORY_MB = 512
/** Pages that are read at once; others wait, so that agents cannot take all cores. */
const AT_ONCE = 2

export function newPageReader(): PageReader {
  let running = 0
  const waiting: (() => void)[] = []
  return async (page, signal) => {
    if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return signal.aborted ? STOPPED : await readInWorker(page, signal)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}

const STOPPED: ReadablePage = { fault: 'It was not read: the call was stopped.' }

function readInWorker(page: FetchedPage, signal: AbortSignal): Promise<ReadablePage> {
  const worker = new Worker(workerFile(), {
    workerData: page,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })
  const { promise, resolve } = Promise.withResolvers<ReadablePage>()
  const stop = () => resolve(STOPPED)
  const timer = setTimeout(
    () => resolve({ fault: `It could not be read within ${DEADLINE_MS / 1_000} s.` }),
    DEADLINE_MS,
  )
  signal.addEventListener('abort', stop)
  worker.once('message', resolve)
  worker.once('error', (error) => resolve({ fault: `It could not be read: ${(error as Error).message}` }))
  worker.once('exit', () => resolve({ fault: 'It could not be read: its reader ended.' }))
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    void worker.terminate()
  })
}

/** TypeScript in a checkout; in the package a file beside the bundle. */
const workerFile = (): URL =>
  new URL(import.meta.url.endsWith('.ts') ? './page-worker.ts' : './page-worker.js', import.meta.url)
