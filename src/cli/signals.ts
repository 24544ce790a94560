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
