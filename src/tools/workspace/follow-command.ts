import type { Clock } from '../../ports/clock.ts'
import { type ProcessState, type Workspace, WorkspaceError } from '../../ports/workspaces.ts'
import { lastLines } from './describe-process.ts'

type FollowCommandOptions = {
  clock: Clock
  /** Whoever waits is told to stop. */
  signal: AbortSignal
  /** At most so long. */
  forMs: number
  progress?(text: string): void
}

/** How often whoever watches is shown the end of the output. */
const PROGRESS_MS = 1_000
const PROGRESS_BYTES = 1_000
const PROGRESS_LINES = 5

/** Until the process has ended, the time is over or the signal aborts; answers with how it is then. */
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
  if (progress) void tellProgress(workspace, processId, { clock, signal: over.signal, progress })
  try {
    return await retryWhileUnavailable(() => workspace.wait(processId, over.signal), clock)
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

async function tellProgress(
  workspace: Pick<Workspace, 'output'>,
  processId: string,
  { clock, signal, progress }: { clock: Clock; signal: AbortSignal; progress(text: string): void },
): Promise<void> {
  let told = 0
  for (;;) {
    await clock.sleep(PROGRESS_MS, signal)
    if (signal.aborted) return
    try {
      const { text, total } = await workspace.output(processId, { last: PROGRESS_BYTES })
      if (signal.aborted) return
      if (total > told && text.trim() !== '') progress(lastLines(text, PROGRESS_LINES))
      told = total
    } catch (error) {
      // Only a view of it: whoever waits for the process itself hears what is wrong.
      if (error instanceof WorkspaceError) return
      throw error
    }
  }
}

/** How long a workspace that does not answer is asked again: one that was killed is up again by then. */
const PAUSES_MS = [100, 400, 1_500, 3_000]

/** Only for what may be asked twice. */
export async function retryWhileUnavailable<T>(work: () => Promise<T>, clock: Clock): Promise<T> {
  for (const pause of PAUSES_MS) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof WorkspaceError) || error.fault !== 'unavailable') throw error
      await clock.sleep(pause)
    }
  }
  return work()
}
