import { errorText } from '../core/error-text.ts'
import { Problem, type ProblemKind } from '../core/problem.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { CliContext } from './cli-context.ts'
import { BUG, EXIT_OF_PROBLEM, EXIT_OF_STORAGE } from './exit-codes.ts'
import { safeText } from './terminal.ts'

/** The next step at a terminal, where the message of the problem does not give one. */
const NEXT_STEP: Partial<Record<ProblemKind, string>> = {
  'pending-approval': '`holdfast approvals` shows it; `holdfast approvals approve RUN` or `deny RUN` answers it.',
  'home-owned': 'Stop that process, or set HOLDFAST_HOME to another folder.',
}

/** Prints the error as one sentence and returns the exit code. Only a bug in Holdfast shows a stack trace. */
export function printError(fault: unknown, { notes, environment }: Pick<CliContext, 'notes' | 'environment'>): number {
  const { red } = notes.look.paint
  const print = (sentence: string) => notes.line(`${red('holdfast:')} ${safeText(sentence)}`)
  if (fault instanceof Problem) {
    print([fault.message, NEXT_STEP[fault.kind]].filter(Boolean).join(' '))
    return EXIT_OF_PROBLEM[fault.kind]
  }
  if (fault instanceof StorageError) {
    print(fault.message)
    return EXIT_OF_STORAGE[fault.fault]
  }
  print(`this is a bug in Holdfast: ${errorText(fault)}`)
  if (environment.HOLDFAST_DEBUG === '1') notes.line(fault instanceof Error ? (fault.stack ?? '') : '')
  else notes.line('Set HOLDFAST_DEBUG=1 to see the stack trace. Nothing that was accepted is lost.')
  return BUG
}
