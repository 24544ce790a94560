import { type CommandApproval, DEFAULT_COMMAND_APPROVAL } from '../../core/command-approval.ts'
import type { Containment } from '../../ports/workspaces.ts'
import { findDestruction } from './destructive-commands.ts'

/** Of tools that run commands without a sandbox. */
export const ONLY_IN_TURNS = 'commands run without a sandbox here, so that every one waits for a person'

const NO_SANDBOX = 'it runs without a sandbox'
const EVERY_COMMAND = 'every command of this agent needs approval'

const REASON: Record<CommandApproval, (commandLine: string) => string | undefined> = {
  ask: (commandLine) => findDestruction(commandLine) ?? EVERY_COMMAND,
  destructive: findDestruction,
  never: () => undefined,
}

/** Why a command line, or input for a process, needs approval; undefined if it needs none. */
export function whyCommandAsks(
  commandLine: string,
  { containment, policy = DEFAULT_COMMAND_APPROVAL }: { containment: Containment; policy: CommandApproval | undefined },
): string | undefined {
  if (containment === 'local') return findDestruction(commandLine) ?? NO_SANDBOX
  return REASON[policy](commandLine)
}
