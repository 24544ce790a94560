/**
 * Which commands of an agent wait for approval inside a sandbox: every one, those that destroy or cannot be read, or
 * none. Without a sandbox every command waits.
 */
export const COMMAND_APPROVALS = ['ask', 'destructive', 'never'] as const

export type CommandApproval = (typeof COMMAND_APPROVALS)[number]

export const DEFAULT_COMMAND_APPROVAL: CommandApproval = 'destructive'
