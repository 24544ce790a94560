type SingleFlight = {
  /** Starts the work unless work of that name is still running. */
  run(name: string, work: () => Promise<void>): void
  /** Starts no more work, and resolves when the running work has ended. */
  stop(): Promise<void>
}

/**
 * Repeated work of a job. A failure is reported once, and again only after a success: otherwise a store that is
 * unavailable would fill the log.
 */
export function newSingleFlight(report: (fault: unknown, where: string) => void): SingleFlight {
  const running = new Map<string, Promise<void>>()
  const failing = new Set<string>()
  let isStopping = false
  return {
    run(name, work) {
      if (running.has(name) || isStopping) return
      const done = work()
        .then(() => void failing.delete(name))
        .catch((fault) => {
          if (!failing.has(name) && !isStopping) report(fault, name)
          failing.add(name)
        })
        .finally(() => running.delete(name))
      running.set(name, done)
    },
    async stop() {
      isStopping = true
      await Promise.all(running.values())
    },
  }
}
