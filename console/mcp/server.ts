export type McpServer = {
  id: string
  server_name: string
  mcp_server_type: 'stdio' | 'sse' | 'streamable_http'
  connection: {
    state: 'reached' | 'failed' | 'needs_authorization' | 'not_asked'
    checked_at: string | null
    detail: string | null
  }
  timeout_seconds: number
  command?: string
  args?: string[]
  egress?: string[]
  env?: Record<string, string> | null
  server_url?: string
  auth_token?: string | null
  custom_headers?: Record<string, string> | null
  authorization?: {
    state: 'none' | 'needed' | 'waiting' | 'authorized'
    detail: string | null
    authorization_url: string | null
    issuer: string | null
    scope: string | null
    expires_at: string | null
  }
}

export const addressOf = ({ server_url: url, command = '', args = [] }: McpServer): string =>
  url ?? [command, ...args].join(' ')

export const STATES: Record<McpServer['connection']['state'], { text: string; className: string }> = {
  reached: { text: 'reached', className: 'state-completed' },
  failed: { text: 'failed', className: 'state-failed' },
  needs_authorization: { text: 'needs a person to sign in', className: 'state-waiting' },
  not_asked: { text: 'not asked yet', className: 'age' },
}

type Definition = { name: string; description: string; parameters: unknown; effects: string }

export type ChangedTool = {
  tool_id: string
  name: string
  since: string
  definition_hash: string
  approved: Definition
  offered: Definition
}

/** Servers and their tools are rows of two kinds. */
export const concernsMcp = ({ kind }: { kind: string }): boolean => kind === 'mcp_server' || kind === 'tool'
