import { readFileSync } from 'node:fs'
import { replaceVolatileFileSync } from '../disk/atomic-write.ts'
import { bootId } from '../disk/boot-id.ts'
import type { WorkspacePaths } from './workspace-folder.ts'

/** The process with which everything in a workspace ends. Start time and boot id make it unique: pids are reused. */
type SupervisorPid = { pid: number; startedAt: string; boot: string }

export function writeSupervisorPid(paths: WorkspacePaths, pid: number): void {
  const startedAt = startTimeOf(pid)
  // The process has ended already.
  if (startedAt === undefined) return
  const supervisor: SupervisorPid = { pid, startedAt, boot: bootId() }
  // No pid of this boot matters after a power loss, and the event loop would wait for the disk.
  replaceVolatileFileSync(paths.supervisorPid, JSON.stringify(supervisor))
}

/** Kills the supervisor that is on record, if it runs. Resolves when it and everything in its sandbox has ended. */
export async function killSupervisor(paths: WorkspacePaths): Promise<void> {
  const supervisor = readSupervisorPid(paths)
  if (!supervisor || !isAlive(supervisor)) return
  try {
    process.kill(supervisor.pid, 'SIGKILL')
  } catch (fault) {
    // The process ended after the check above.
    if ((fault as NodeJS.ErrnoException).code !== 'ESRCH') throw fault
  }
  while (isAlive(supervisor)) await new Promise((resolve) => setTimeout(resolve, 5))
}

function readSupervisorPid(paths: WorkspacePaths): SupervisorPid | undefined {
  try {
    const supervisor = JSON.parse(readFileSync(paths.supervisorPid, 'utf8')) as SupervisorPid
    return Number.isInteger(supervisor.pid) && supervisor.pid > 1 ? supervisor : undefined
  } catch {
    return undefined
  }
}

const isAlive = ({ pid, startedAt, boot }: SupervisorPid): boolean =>
  boot === bootId() && startTimeOf(pid) === startedAt

/** In ticks since boot; undefined for a process that does not exist or is a zombie. */
function startTimeOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
