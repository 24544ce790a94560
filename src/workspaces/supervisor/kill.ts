import type { OwnedProcess, ProcessOwners } from './process-owners.ts'

/** Between asking and making sure. */
const POLITE_MS = 2_000
const LOOK_MS = 40

export type Killer = {
  /** First politely, then for good; resolves when nothing of them is left, or after a last deadline. */
  end(owners: ReadonlySet<string>): Promise<void>
  /** At once. Returns how many are still there. */
  killNow(isCondemned: (member: OwnedProcess) => boolean): number
}

export function newKiller(processOwners: ProcessOwners, options: { isSandboxed: boolean }): Killer {
  const living = (isCondemned: (member: OwnedProcess) => boolean) =>
    processOwners.members().filter((one) => !one.isZombie && isCondemned(one))

  function strike(isCondemned: (member: OwnedProcess) => boolean): number {
    // Stopped first, all of them at once: nobody forks away while the others are counted. Only ever where the process
    // table is our own; elsewhere -1 is everybody's.
    if (options.isSandboxed) signal(-1, 'SIGSTOP')
    try {
      for (let round = 0; round < 20; round++) {
        const condemned = living(isCondemned)
        if (condemned.length === 0) return 0
        for (const { pid } of condemned) signal(pid, 'SIGKILL')
      }
      return living(isCondemned).length
    } finally {
      if (options.isSandboxed) signal(-1, 'SIGCONT')
    }
  }

  return {
    killNow: strike,
    async end(owners) {
      const isCondemned = (member: OwnedProcess) => member.owner !== undefined && owners.has(member.owner)
      for (const { pid } of living(isCondemned)) {
        signal(pid, 'SIGTERM')
        // One that is stopped does not hear it.
        signal(pid, 'SIGCONT')
      }
      const deadline = performance.now() + POLITE_MS
      while (performance.now() < deadline) {
        if (living(isCondemned).length === 0) return
        await pause(LOOK_MS)
      }
      const last = performance.now() + POLITE_MS
      while (strike(isCondemned) > 0 && performance.now() < last) await pause(LOOK_MS)
    },
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
