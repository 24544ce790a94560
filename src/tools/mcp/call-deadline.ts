type CallDeadline = { signal: AbortSignal; end(): void }

/**
 * Aborts with `given`, or with the reason `timeout` after `ms`. Not a composed signal: those that are composed from it for
 * the steps of a call would outlive the step, and the SDK would cancel finished requests with them.
 */
export function startDeadline(given: AbortSignal, ms: number): CallDeadline {
  const stop = new AbortController()
  const forward = () => stop.abort(given.reason)
  const timer = setTimeout(() => stop.abort('timeout'), ms)
  given.addEventListener('abort', forward)
  if (given.aborted) forward()
  return {
    signal: stop.signal,
    end() {
      clearTimeout(timer)
      given.removeEventListener('abort', forward)
    },
  }
}
