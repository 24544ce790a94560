import { type FetchedPage, kindOf } from './page-kind.ts'
import { type PageThread, startPageThread } from './page-thread.ts'
import type { ReadablePage } from './read-page.ts'

/** Reads pages in other threads, so that no page can hold the server. */
export type PageReader = {
  /** Starts a thread unless one waits: it is ready when the page has arrived. */
  prepare(): void
  read(page: FetchedPage, signal: AbortSignal): Promise<ReadablePage>
}

/** Pages that are read at once; others wait, so that agents cannot take all cores. */
const AT_ONCE = 2
/** A thread waits so long for its next page: starting one takes longer than reading most pages. */
const IDLE_MS = 30_000
/** A thread that read more than this ends, and its memory returns to the system. */
const KEPT_BYTES = 2_000_000

export function newPageReader(): PageReader {
  let running = 0
  const waiting: (() => void)[] = []
  const idle = new Set<PageThread>()

  function takeThread(): PageThread {
    for (const thread of idle) {
      idle.delete(thread)
      if (thread.wake()) return thread
    }
    return startPageThread()
  }

  async function readInThread(page: FetchedPage, signal: AbortSignal): Promise<ReadablePage> {
    const thread = takeThread()
    const { isComplete, page: read } = await thread.read(page, signal)
    if (isComplete && isHarmless(page)) keep(thread)
    else thread.end()
    return read
  }

  function keep(thread: PageThread): void {
    idle.add(thread)
    thread.rest(IDLE_MS, () => idle.delete(thread))
  }

  return {
    prepare() {
      if (idle.size === 0 && running < AT_ONCE) keep(startPageThread())
    },
    async read(page, signal) {
      if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
      else running += 1
      try {
        return signal.aborted ? { fault: 'It was not read: the call was stopped.' } : await readInThread(page, signal)
      } finally {
        const next = waiting.shift()
        if (next) next()
        else running -= 1
      }
    },
  }
}

/** The reader of PDFs is a large program with a state of its own: the page after it gets a new thread. */
const isHarmless = (page: FetchedPage): boolean => page.bytes.length <= KEPT_BYTES && kindOf(page) !== 'pdf'
