import type { OwnedProcess, ProcessOwners } from './process-owners.ts'

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000
const POLL_MS = 40
/** Processes that fork meanwhile are found in the next round. */
const KILL_ROUNDS = 20

export type Killer = {
  /** SIGTERM, then SIGKILL. Resolves when no process of these owners is left, or after twice the grace time. */
  end(owners: ReadonlySet<string>): Promise<void>
  /** SIGKILL at once. Returns how many processes are left. */
  killNow(isTarget: (member: OwnedProcess) => boolean): number
}

export function newKiller(processOwners: ProcessOwners, options: { isSandboxed: boolean }): Killer {
  const living = (isTarget: (member: OwnedProcess) => boolean) =>
    processOwners.members().filter((one) => !one.isZombie && isTarget(one))

  function killNow(isTarget: (member: OwnedProcess) => boolean): number {
    // Stop all processes first, so that none forks while the others are killed. Only in a sandbox: elsewhere -1 signals
    // every process of the user.
    if (options.isSandboxed) signal(-1, 'SIGSTOP')
    try {
      for (let round = 0; round < KILL_ROUNDS; round++) {
        const targets = living(isTarget)
        if (targets.length === 0) return 0
        for (const { pid } of targets) signal(pid, 'SIGKILL')
      }
      return living(isTarget).length
    } finally {
      if (options.isSandboxed) signal(-1, 'SIGCONT')
    }
  }

  return {
    killNow,
    async end(owners) {
      const isTarget = (member: OwnedProcess) => member.owner !== undefined && owners.has(member.owner)
      for (const { pid } of living(isTarget)) {
        signal(pid, 'SIGTERM')
        // A stopped process does not handle SIGTERM.
        signal(pid, 'SIGCONT')
      }
      const graceEnd = performance.now() + GRACE_MS
      while (performance.now() < graceEnd) {
        if (living(isTarget).length === 0) return
        await pause(POLL_MS)
      }
      const deadline = performance.now() + GRACE_MS
      while (killNow(isTarget) > 0 && performance.now() < deadline) await pause(POLL_MS)
    },
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended meanwhile.
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
