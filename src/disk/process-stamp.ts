import { bootId } from './boot-id.ts'
import { readIfPresentSync } from './read-if-present.ts'

/**
 * Tells a process from a later one with the same pid: the boot and the start time of the process. Undefined where /proc
 * does not tell, and for a process that has ended.
 */
export function processStamp(pid: number): string | undefined {
  const text = statOf(pid)
  if (text === undefined) return undefined
  // The name is in parentheses and may hold any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${bootId()} ${fields[19]}`
}

function statOf(pid: number): string | undefined {
  try {
    return readIfPresentSync(`/proc/${pid}/stat`)
  } catch {
    // The process ended while it was read.
    return undefined
  }
}
