import type { Clock } from '../ports/clock.ts'
import type { StopCause } from './call-model.ts'
import { OVER } from './execute-call.ts'

/** The two switches of a turn: the model stops at once, tools may be given time to finish. */
export type Stop = {
  model: AbortSignal
  tools: AbortSignal
  left: AbortSignal
  cause(): StopCause | undefined
  abort(cause: StopCause): void
  leave(toolGraceMs: number): void
  /** The end is near and needs nothing of the world: worth staying for. */
  stayForCancel(): void
  dispose(): void
}

export function newStop({ clock }: { clock: Clock }): Stop {
  const model = new AbortController()
  const tools = new AbortController()
  const left = new AbortController()
  const over = new AbortController()
  let cause: StopCause | undefined
  const abort = (why: StopCause) => {
    cause ??= why
    model.abort()
    tools.abort()
    if (why === 'leaving') left.abort()
  }
  return {
    model: model.signal,
    tools: tools.signal,
    left: left.signal,
    cause: () => cause,
    abort,
    leave(toolGraceMs) {
      cause ??= 'leaving'
      model.abort()
      void clock.sleep(toolGraceMs, over.signal).then(() => {
        tools.abort()
        left.abort()
      })
    },
    stayForCancel() {
      cause = 'cancel'
      tools.abort()
    },
    dispose: () => over.abort(OVER),
  }
}
