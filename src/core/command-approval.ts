/**
 * Which commands of an agent wait for approval inside a sandbox: every one, those that destroy or cannot be read, or
 * none. Without a sandbox every command waits.
 */
export const COMMAND_APPROVALS = ['ask', 'destructive', 'never'] as const

export type CommandApproval = (typeof COMMAND_APPROVALS)[number]

export const DEFAULT_COMMAND_APPROVAL: CommandApproval = 'destructive'

/** Whether fewer commands wait after the change. */
export const isLooser = (
  after: CommandApproval = DEFAULT_COMMAND_APPROVAL,
  before: CommandApproval = DEFAULT_COMMAND_APPROVAL,
): boolean => COMMAND_APPROVALS.indexOf(after) > COMMAND_APPROVALS.indexOf(before)
