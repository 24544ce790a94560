import type { Surface } from '../surface.ts'
import { agentBlockOperations } from './agent-blocks.ts'
import { agentFileOperations } from './agent-file/routes.ts'
import { agentToolOperations } from './agent-tools.ts'
import { agentOperations } from './agents.ts'
import { blockOperations } from './blocks.ts'
import { conversationMessageOperations } from './conversation-messages.ts'
import { conversationOperations } from './conversations.ts'
import { LETTA_ERRORS } from './errors.ts'
import { mcpServerOperations } from './mcp-servers.ts'
import { messageSearchOperations } from './message-search.ts'
import { messageOperations } from './messages.ts'
import { modelOperations } from './models.ts'
import { notServed } from './not-served.ts'
import { passageOperations } from './passages.ts'
import { runOperations } from './runs.ts'
import { scheduleOperations } from './schedules.ts'
import { stepOperations } from './steps.ts'
import { tagOperations } from './tags.ts'
import { toolOperations } from './tools.ts'

/** The operations of the official client `@letta-ai/letta-client`. */
export const LETTA: Surface = {
  errors: LETTA_ERRORS,
  notServed,
  operations: [
    ...agentOperations,
    ...agentBlockOperations,
    ...agentToolOperations,
    ...agentFileOperations,
    ...blockOperations,
    ...toolOperations,
    ...mcpServerOperations,
    ...passageOperations,
    ...tagOperations,
    ...modelOperations,
    ...conversationOperations,
    ...conversationMessageOperations,
    ...messageOperations,
    ...messageSearchOperations,
    ...runOperations,
    ...stepOperations,
    ...scheduleOperations,
  ],
}
