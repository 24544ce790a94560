/** Listens for SIGINT, SIGTERM and SIGHUP until the returned function is called. */
export function onSignals({ interrupt, terminate }: { interrupt(): void; terminate(): void }): () => void {
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', terminate)
  process.on('SIGHUP', terminate)
  return () => {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', terminate)
    process.off('SIGHUP', terminate)
  }
}

/**
 * While a command closes, Ctrl-C does not cut it short: the terminal has its settings back, so the keys arrive as a
 * signal. After this time a signal ends the process again, in case the closing hangs.
 */
const CLOSING_MS = 10_000

export function ignoreInterruptsWhileClosing(): void {
  const ignore = () => {}
  process.on('SIGINT', ignore)
  setTimeout(() => process.off('SIGINT', ignore), CLOSING_MS).unref()
}
