import { markOf, readProcessTable, type SystemProcess } from './process-table.ts'

/** Whose child a process is: the id of the command, or nobody's that we know. */
export type OwnedProcess = SystemProcess & { owner: string | undefined }

type KnownProcess = { startedAt: number; owner: string | undefined }

/**
 * Tells which command each process of the sandbox belongs to: by descent, by process group and session, by the mark in its
 * environment, by its tag. What was once seen to belong keeps its owner.
 */
export function newProcessOwners(options: {
  isSandboxed: boolean
  roots(): Map<number, string>
  /** Whether a mark is one of ours: outside a sandbox there are those of other workspaces too. */
  isOurMark(mark: string): boolean
  /** What else tells an owner, where the process table is our own. */
  tagOf(pid: number): string | undefined
}) {
  let known = new Map<number, KnownProcess>()

  return {
    members(): OwnedProcess[] {
      const table = readProcessTable()
      const roots = options.roots()
      const byPid = new Map(table.map((one) => [one.pid, one]))
      const next = new Map<number, KnownProcess>()

      function ownerOf(one: SystemProcess): string | undefined {
        const before = next.get(one.pid)
        if (before) return before.owner
        const earlier = known.get(one.pid)
        const owner =
          roots.get(one.pid) ??
          (earlier?.startedAt === one.startedAt ? earlier.owner : undefined) ??
          roots.get(one.group) ??
          roots.get(one.session) ??
          byDescent(one) ??
          (one.isZombie || earlier?.startedAt === one.startedAt ? undefined : ourMark(one.pid))
        next.set(one.pid, { startedAt: one.startedAt, owner })
        return owner
      }

      function ourMark(pid: number): string | undefined {
        const mark = markOf(pid)
        if (mark !== undefined && options.isOurMark(mark)) return mark
        return options.isSandboxed ? options.tagOf(pid) : undefined
      }

      function byDescent({ parent, pid }: SystemProcess): string | undefined {
        const above = byPid.get(parent)
        return above && above.pid !== pid && !isOurs(above.pid) ? ownerOf(above) : undefined
      }

      const members = table
        .filter((one) => !isOurs(one.pid) && !isOwnTool(one, roots))
        .map((one) => ({ ...one, owner: ownerOf(one) }))
      known = next
      // Outside a sandbox the table holds everybody's.
      return options.isSandboxed ? members : members.filter((one) => one.owner !== undefined)
    },
  }
}

export type ProcessOwners = ReturnType<typeof newProcessOwners>

const isOurs = (pid: number): boolean => pid === 1 || pid === process.pid

/** What the supervisor itself runs for a moment: its children that are no commands. */
const isOwnTool = (one: SystemProcess, roots: Map<number, string>): boolean =>
  one.parent === process.pid && !roots.has(one.pid)
