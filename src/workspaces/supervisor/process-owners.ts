import { markOf, readProcessTable, type SystemProcess } from './process-table.ts'

/** `owner`: the id of the command that started the process; undefined if unknown. */
export type OwnedProcess = SystemProcess & { owner: string | undefined }

type KnownProcess = { startedAt: number; owner: string | undefined; seenAt: number }

/** A new process has the environment of its parent until it executes its program, so it may get its mark this late. */
const MARK_APPEARS_MS = 10_000

/**
 * Finds the command each process of the sandbox belongs to: by descent, process group and session, the mark in its
 * environment, or its tag. A process keeps the owner that was found once.
 */
export function newProcessOwners(options: {
  isSandboxed: boolean
  roots(): Map<number, string>
  /**
   * Whether a mark belongs to this workspace: without a sandbox, the process table has those of other workspaces too.
   */
  isOwnMark(mark: string): boolean
  /** Finds the owner by the tag; used only in a sandbox, where every process is the workspace's. */
  tagOf(pid: number): string | undefined
}) {
  let known = new Map<number, KnownProcess>()

  return {
    members(): OwnedProcess[] {
      const table = readProcessTable()
      const roots = options.roots()
      const byPid = new Map(table.map((one) => [one.pid, one]))
      const next = new Map<number, KnownProcess>()
      const now = performance.now()

      function ownerOf(one: SystemProcess): string | undefined {
        const before = next.get(one.pid)
        if (before) return before.owner
        const last = known.get(one.pid)
        const earlier = last?.startedAt === one.startedAt ? last : undefined
        const seenAt = earlier?.seenAt ?? now
        const mayHaveMark = !one.isZombie && now - seenAt < MARK_APPEARS_MS
        const owner =
          roots.get(one.pid) ??
          earlier?.owner ??
          roots.get(one.group) ??
          roots.get(one.session) ??
          byDescent(one) ??
          (mayHaveMark ? findMark(one.pid) : undefined)
        next.set(one.pid, { startedAt: one.startedAt, owner, seenAt })
        return owner
      }

      function findMark(pid: number): string | undefined {
        const mark = markOf(pid)
        if (mark !== undefined && options.isOwnMark(mark)) return mark
        return options.isSandboxed ? options.tagOf(pid) : undefined
      }

      function byDescent({ parent, pid }: SystemProcess): string | undefined {
        const above = byPid.get(parent)
        return above && above.pid !== pid && !isSupervisorOrInit(above.pid) ? ownerOf(above) : undefined
      }

      const members = table
        .filter((one) => !isSupervisorOrInit(one.pid) && !isHelper(one, roots))
        .map((one) => ({ ...one, owner: ownerOf(one) }))
      known = next
      // Without a sandbox the table holds all processes of the machine.
      return options.isSandboxed ? members : members.filter((one) => one.owner !== undefined)
    },
  }
}

export type ProcessOwners = ReturnType<typeof newProcessOwners>

const isSupervisorOrInit = (pid: number): boolean => pid === 1 || pid === process.pid

/** Short-lived programs of the supervisor itself: its children that are not commands. */
const isHelper = (one: SystemProcess, roots: Map<number, string>): boolean =>
  one.parent === process.pid && !roots.has(one.pid)
