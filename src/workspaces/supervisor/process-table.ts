import { readdirSync, readFileSync } from 'node:fs'

export type SystemProcess = {
  pid: number
  parent: number
  group: number
  session: number
  threads: number
  /** In clock ticks since boot: together with the pid it identifies one process. */
  startedAt: number
  residentPages: number
  isZombie: boolean
}

/** Environment variable with the id of the command that started a process; detaching does not remove it. */
export const MARK = 'HOLDFAST_PROCESS'

export function readProcessTable(): SystemProcess[] {
  const found: SystemProcess[] = []
  for (const name of readdirSync('/proc')) {
    const first = name.charCodeAt(0)
    if (first < 48 || first > 57) continue
    const one = readProcess(Number(name))
    if (one) found.push(one)
  }
  return found
}

function readProcess(pid: number): SystemProcess | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return undefined
  }
  // The name is in parentheses and may hold any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const at = (index: number) => Number(fields[index])
  return {
    pid,
    parent: at(1),
    group: at(2),
    session: at(3),
    threads: at(17),
    startedAt: at(19),
    residentPages: at(21),
    isZombie: fields[0] === 'Z' || fields[0] === 'X',
  }
}

/** The mark in a process's initial environment; undefined if it has none or removed it. */
export function markOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/environ`, 'latin1')
    const start = text.startsWith(`${MARK}=`) ? 0 : text.indexOf(`\0${MARK}=`) + 1
    if (start === 0 && !text.startsWith(`${MARK}=`)) return undefined
    return text.slice(start + MARK.length + 1, text.indexOf('\0', start))
  } catch {
    return undefined
  }
}
