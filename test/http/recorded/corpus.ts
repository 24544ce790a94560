import { readFileSync } from 'node:fs'
import type { RecordedRequest } from './request.ts'
import { AGENT_STORY } from './story/agents.ts'
import { DELETIONS } from './story/deletions.ts'
import { HOOK_STORY } from './story/hooks.ts'
import { AGENT_FILES, MCP_SERVERS, WORKSPACE_LEAVES, WORKSPACES } from './story/mcp-files-workspaces.ts'
import { MESSAGE_STORY } from './story/messages.ts'
import { PEOPLE, PEOPLE_LEAVE } from './story/people.ts'
import { SCHEDULE_STORY } from './story/schedules.ts'
import { SERVER_STORY } from './story/server.ts'
import { WEBHOOK_STORY } from './story/webhooks.ts'

export const GENERATED = new URL('generated.json', import.meta.url)

/** The requests that create the resources which the others use. */
export const STORY: readonly RecordedRequest[] = [
  ...PEOPLE,
  ...AGENT_STORY,
  ...MESSAGE_STORY,
  ...MCP_SERVERS,
  ...AGENT_FILES,
  ...WORKSPACES,
  ...SCHEDULE_STORY,
  ...WEBHOOK_STORY,
  ...HOOK_STORY,
  ...SERVER_STORY,
]

/** Valid and invalid requests for every route, in the order they are sent. */
export function corpus(): RecordedRequest[] {
  const generated: RecordedRequest[] = JSON.parse(readFileSync(GENERATED, 'utf8'))
  return [...STORY, ...generated, ...WORKSPACE_LEAVES, ...DELETIONS, ...PEOPLE_LEAVE]
}
