import { BEFORE_ADVICE } from '../../core/turn-end.ts'
import { runnable } from '../program-name.ts'
import { safeText } from '../terminal.ts'

type ShownError = { message: string; detail?: string | null | undefined }

/** Why a run failed, and on a line of its own what an operator can do about it. */
export function runErrorLines({ message, detail }: ShownError): string[] {
  const [what = '', ...advice] = (detail ?? '').split(BEFORE_ADVICE)
  const sentence = what === '' ? message : `${message} (${what.replace(/\.$/, '')})`
  return [sentence, ...(advice.length > 0 ? [`What to do: ${advice.join(BEFORE_ADVICE)}`] : [])].map((line) =>
    safeText(runnable(line)),
  )
}
