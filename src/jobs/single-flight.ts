type SingleFlight = {
  /** Starts the work unless work of that name is still running. */
  run(name: string, work: () => Promise<void>): void
  /** Starts nothing more, and resolves when what runs has ended. */
  stop(): Promise<void>
}

/**
 * Work that a job repeats. A fault is reported once under its name and again only after the work has succeeded: a store
 * that is away would fill the log otherwise.
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
