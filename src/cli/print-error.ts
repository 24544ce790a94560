import { errorText } from '../core/error-text.ts'
import { Problem, type ProblemKind } from '../core/problem.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { CliContext } from './cli-context.ts'
import { BUG, EXIT_OF_PROBLEM, EXIT_OF_STORAGE } from './exit-codes.ts'
import { runnable } from './program-name.ts'
import { safeText } from './terminal.ts'

/** The next step at a terminal, where the message of the problem does not give one. */
const NEXT_STEP: Partial<Record<ProblemKind, string>> = {
  'pending-approval': '`holdfast approvals` shows it; `holdfast approvals approve RUN` answers it.',
  'home-owned': 'Stop that process, or set HOLDFAST_HOME to another folder.',
}

type ErrorReport = { kind: string; message: string; exit: number; bug?: boolean }

/**
 * Prints the error as one sentence, or as one line of JSON, and returns the exit code. Only a bug in Holdfast shows a stack
 * trace.
 */
export function printError(
  fault: unknown,
  { notes, environment, isJson }: Pick<CliContext, 'notes' | 'environment'> & { isJson?: boolean },
): number {
  const report = reportOf(fault)
  if (isJson) {
    const { kind, message, exit } = report
    notes.line(JSON.stringify({ error: { kind, message, exit_code: exit } }))
    return exit
  }
  const { red } = notes.look.paint
  notes.line(`${red('holdfast:')} ${safeText(report.message)}`)
  if (!report.bug) return report.exit
  if (environment.HOLDFAST_DEBUG === '1') notes.line(fault instanceof Error ? (fault.stack ?? '') : '')
  else notes.line('Set HOLDFAST_DEBUG=1 to see the stack trace. Nothing that was accepted is lost.')
  return report.exit
}

function reportOf(fault: unknown): ErrorReport {
  if (fault instanceof Problem) {
    const message = runnable([fault.message, NEXT_STEP[fault.kind]].filter(Boolean).join(' '))
    return { kind: fault.kind, message, exit: EXIT_OF_PROBLEM[fault.kind] }
  }
  if (fault instanceof StorageError)
    return { kind: `storage-${fault.fault}`, message: runnable(fault.message), exit: EXIT_OF_STORAGE[fault.fault] }
  return { kind: 'bug', message: `this is a bug in Holdfast: ${errorText(fault)}`, exit: BUG, bug: true }
}
