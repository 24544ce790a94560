import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './fixture-workspaces.ts'

/** Kills the first process of the sandbox in this folder, and waits until every process in it is gone. */
export async function killSupervisor(folder: string): Promise<void> {
  const { pid } = JSON.parse(readFileSync(join(folder, 'supervisor.json'), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
  // The kernel ends every process of the sandbox before its first one is a zombie. Until then they still answer.
  await until(() => !isRunning(pid))
}

export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
