import type { Clock } from '../../ports/clock.ts'
import { type ProcessState, type Workspace, WorkspaceError } from '../../ports/workspaces.ts'
import { lastLines } from './describe-process.ts'

type FollowCommandOptions = {
  clock: Clock
  /** Stops the wait. */
  signal: AbortSignal
  /** The longest wait. */
  forMs: number
  progress?(text: string): void
}

/** How often the end of the output is reported as progress. */
const PROGRESS_MS = 1_000
const PROGRESS_BYTES = 1_000
const PROGRESS_LINES = 5

/** Waits until the process has ended, the time is over or the signal aborts; returns the state at that time. */
export async function followCommand(
  workspace: Pick<Workspace, 'wait' | 'output'>,
  { processId }: Pick<ProcessState, 'processId'>,
  { clock, signal, forMs, progress }: FollowCommandOptions,
): Promise<ProcessState> {
  const over = new AbortController()
  const stop = () => over.abort('over')
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  void clock.sleep(Math.max(0, forMs), over.signal).then(stop)
  if (progress) void reportProgress(workspace, processId, { clock, signal: over.signal, progress })
  try {
    return await retryWhileUnavailable(() => workspace.wait(processId, over.signal), clock)
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

async function reportProgress(
  workspace: Pick<Workspace, 'output'>,
  processId: string,
  { clock, signal, progress }: { clock: Clock; signal: AbortSignal; progress(text: string): void },
): Promise<void> {
  let reported = 0
  for (;;) {
    await clock.sleep(PROGRESS_MS, signal)
    if (signal.aborted) return
    try {
      const { text, total } = await workspace.output(processId, { last: PROGRESS_BYTES })
      if (signal.aborted) return
      if (total > reported && text.trim() !== '') progress(lastLines(text, PROGRESS_LINES))
      reported = total
    } catch (error) {
      // Progress is optional: the wait for the process reports the error.
      if (error instanceof WorkspaceError) return
      throw error
    }
  }
}

/** Backoff for a workspace that does not answer: a killed supervisor is restarted within this time. */
const BACKOFF_MS = [100, 400, 1_500, 3_000]

/** Only for operations that may be repeated. */
export async function retryWhileUnavailable<T>(work: () => Promise<T>, clock: Clock): Promise<T> {
  for (const pause of BACKOFF_MS) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof WorkspaceError) || error.fault !== 'unavailable') throw error
      await clock.sleep(pause)
    }
  }
  return work()
}
