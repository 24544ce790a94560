import { readFileSync } from 'node:fs'
import { replaceFileSync } from '../disk/atomic-write.ts'
import { bootId } from '../disk/boot-id.ts'
import type { WorkspacePaths } from './workspace-folder.ts'

/** The process that everything of a workspace ends with, named so that no other can be meant: pids are used again. */
type SupervisorPid = { pid: number; startedAt: string; boot: string }

export function writeSupervisorPid(paths: WorkspacePaths, pid: number): void {
  const startedAt = startOf(pid)
  // It has ended already; there is nothing to remember.
  if (startedAt === undefined) return
  const keeper: SupervisorPid = { pid, startedAt, boot: bootId() }
  replaceFileSync(paths.supervisorPid, JSON.stringify(keeper))
}

/** Ends whatever kept the workspace before. Resolves when nothing of it runs any more. */
export async function killSupervisor(paths: WorkspacePaths): Promise<void> {
  const keeper = readKeeper(paths)
  if (!keeper || !isAlive(keeper)) return
  try {
    process.kill(keeper.pid, 'SIGKILL')
  } catch (fault) {
    // It ended between the two looks.
    if ((fault as NodeJS.ErrnoException).code !== 'ESRCH') throw fault
  }
  while (isAlive(keeper)) await new Promise((resolve) => setTimeout(resolve, 5))
}

function readKeeper(paths: WorkspacePaths): SupervisorPid | undefined {
  try {
    const keeper = JSON.parse(readFileSync(paths.supervisorPid, 'utf8')) as SupervisorPid
    return Number.isInteger(keeper.pid) && keeper.pid > 1 ? keeper : undefined
  } catch {
    return undefined
  }
}

const isAlive = ({ pid, startedAt, boot }: SupervisorPid): boolean => boot === bootId() && startOf(pid) === startedAt

/** In ticks since the machine started; undefined for a process that is not there or only waits to be collected. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
