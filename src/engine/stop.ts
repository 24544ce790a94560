import type { Clock } from '../ports/clock.ts'
import type { ToolStopReason } from '../ports/tool.ts'
import { CLEANUP_REASON } from './execute-call.ts'

/** `leaving`: this process gives the turn up (shutdown, lost lease); another worker continues it. */
export type StopCause = 'cancel' | 'time-limit' | 'fault' | 'leaving'

/** The abort reason for tools: a run that ends cancels them, a process that shuts down does not. */
const TOOL_STOP_REASON: Record<StopCause, ToolStopReason> = {
  cancel: 'cancelled',
  'time-limit': 'cancelled',
  fault: 'cancelled',
  leaving: 'shutdown',
}

/** Stops a turn: the model request at once, tools after an optional grace period. */
export type Stop = {
  model: AbortSignal
  tools: AbortSignal
  left: AbortSignal
  /** Resolves when `left` aborts. */
  whenLeft: Promise<'left'>
  cause(): StopCause | undefined
  abort(cause: StopCause): void
  leave(toolGraceMs: number): void
  /** During shutdown: a cancel was accepted, so this process ends the run instead of leaving it. */
  stayForCancel(): void
  dispose(): void
}

export function newStop({ clock }: { clock: Clock }): Stop {
  const model = new AbortController()
  const tools = new AbortController()
  const left = new AbortController()
  const over = new AbortController()
  const whenLeft = new Promise<'left'>((resolve) => {
    left.signal.addEventListener('abort', () => resolve('left'), { once: true })
  })
  let cause: StopCause | undefined
  const abort = (why: StopCause) => {
    cause ??= why
    model.abort()
    // `left` first: the turn then no longer waits for the result of a stopped tool.
    if (why === 'leaving') left.abort()
    tools.abort(TOOL_STOP_REASON[why])
  }
  return {
    model: model.signal,
    tools: tools.signal,
    left: left.signal,
    whenLeft,
    cause: () => cause,
    abort,
    leave(toolGraceMs) {
      cause ??= 'leaving'
      model.abort()
      void clock.sleep(toolGraceMs, over.signal).then(() => {
        left.abort()
        tools.abort(TOOL_STOP_REASON.leaving)
      })
    },
    stayForCancel() {
      cause = 'cancel'
      tools.abort(TOOL_STOP_REASON.cancel)
    },
    dispose: () => over.abort(CLEANUP_REASON),
  }
}
