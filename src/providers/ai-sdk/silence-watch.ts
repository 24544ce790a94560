/** The work exceeded its deadline. */
export class SilenceTimeout extends Error {
  override name = 'Silence'
}

type SilenceWatch = {
  /** Signal for the work; aborted with the caller's signal and after a timeout. */
  signal: AbortSignal
  /** Resolves with the result of the work; rejects after `ms` or when the caller aborts, even if the work continues. */
  within<Result>(ms: number, work: PromiseLike<Result>): Promise<Result>
  release(): void
}

export function newSilenceWatch(caller: AbortSignal): SilenceWatch {
  const controller = new AbortController()
  let giveUp: ((reason: unknown) => void) | undefined
  const abortWithCaller = () => controller.abort(caller.reason)
  controller.signal.addEventListener('abort', () => giveUp?.(controller.signal.reason), { once: true })
  if (caller.aborted) abortWithCaller()
  else caller.addEventListener('abort', abortWithCaller, { once: true })

  return {
    signal: controller.signal,
    within(ms, work) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => controller.abort(new SilenceTimeout(`no data for ${ms} ms`)), ms)
        const settle =
          <Value>(done: (value: Value) => void) =>
          (value: Value) => {
            clearTimeout(timer)
            done(value)
          }
        giveUp = settle(reject)
        if (controller.signal.aborted) giveUp(controller.signal.reason)
        work.then(settle(resolve), giveUp)
      })
    },
    release() {
      caller.removeEventListener('abort', abortWithCaller)
      controller.abort(new Error('released'))
    },
  }
}
