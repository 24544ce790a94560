import { replaceFileSync } from '../disk/atomic-write.ts'
import { readIfPresentSync } from '../disk/read-if-present.ts'
import { freezeFile } from './watchdog.ts'

/** What the watchdog wrote before it ended a process. */
type Freeze = { at: number; seconds: number; stack: string[]; lastNotes: string[] }

/** The freeze that ended the last process of this home, once; its record stays in the file. */
export function takeUntoldFreeze(home: string): Freeze | undefined {
  const record = parse(readIfPresentSync(freezeFile(home)) ?? '{}')
  const { at, seconds, stack = [], lastNotes = [], isTold } = record
  if (at === undefined || seconds === undefined || isTold) return undefined
  replaceFileSync(freezeFile(home), `${JSON.stringify({ at, seconds, stack, lastNotes, isTold: true })}\n`)
  return { at, seconds, stack, lastNotes }
}

function parse(text: string): Partial<Freeze> & { isTold?: boolean } {
  try {
    return JSON.parse(text)
  } catch {
    // The process ended while its watchdog wrote: there is nothing to tell.
    return {}
  }
}

export const freezeText = ({ at, seconds, stack, lastNotes }: Freeze): string =>
  `The last process was ended by its watchdog at ${new Date(at).toISOString()}: its event loop stood still for ${seconds} s` +
  ` in ${stack[0] ?? 'native code'}; last begun: ${lastNotes[0] ?? 'nothing'}. last-freeze.json in the home has more.`
