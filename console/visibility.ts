/** Resolves when the tab is looked at, or the signal aborts. */
export const untilVisible = (ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !ended.aborted) return
      document.removeEventListener('visibilitychange', check)
      ended.removeEventListener('abort', check)
      resolve()
    }
    document.addEventListener('visibilitychange', check)
    ended.addEventListener('abort', check)
    check()
  })

/** Aborts when the tab is hidden, or with the other signal. */
export function whileVisible(ended: AbortSignal): AbortSignal {
  const hidden = new AbortController()
  const check = () => {
    if (document.hidden) hidden.abort()
  }
  document.addEventListener('visibilitychange', check)
  const signal = AbortSignal.any([ended, hidden.signal])
  signal.addEventListener('abort', () => document.removeEventListener('visibilitychange', check), { once: true })
  check()
  return signal
}
