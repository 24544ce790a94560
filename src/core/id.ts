/** Ids are `<prefix>-<uuid v4>`, as the official client demands. Order never comes from an id. */
export type OrganizationId = `org-${string}`
export type AgentId = `agent-${string}`
export type ConversationId = `conv-${string}`
export type RunId = `run-${string}`
export type StepId = `step-${string}`
export type MessageId = `message-${string}`
export type WorkerId = `worker-${string}`
export type BlockId = `block-${string}`
export type ToolId = `tool-${string}`
export type PassageId = `passage-${string}`
export type McpServerId = `mcp_server-${string}`
export type ImportId = `import-${string}`
export type ScheduleId = `schedule-${string}`
export type WebhookId = `webhook-${string}`
export type HookId = `hook-${string}`

/** The organization that exists in every home; its administrators are operators. */
export const DEFAULT_ORGANIZATION: OrganizationId = 'org-00000000-0000-4000-8000-000000000000'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export type IdPrefix =
  | 'org'
  | 'agent'
  | 'conv'
  | 'run'
  | 'step'
  | 'message'
  | 'worker'
  | 'block'
  | 'tool'
  | 'passage'
  | 'user'
  | 'key'
  | 'mcp_server'
  | 'import'
  | 'schedule'
  | 'webhook'
  | 'hook'

/** Parses an id from outside. */
export function parseId<P extends IdPrefix>(prefix: P, text: string): `${P}-${string}` | undefined {
  if (!text.startsWith(`${prefix}-`) || !UUID.test(text.slice(prefix.length + 1))) return undefined
  return text as `${P}-${string}`
}

/** A stable id, from a digest, for objects that have no row. */
export function uuidFrom(digest: string): string {
  const hex = digest.replaceAll(/[^0-9a-f]/g, '').padEnd(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The id of a step follows from its answer, so chunks can name the step before it is stored. */
export const stepOfAnswer = (answerId: MessageId): StepId => `step-${answerId.slice('message-'.length)}`
