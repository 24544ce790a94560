import type { JsonObject } from '../../core/json.ts'
import type { Tool } from '../../ports/tool.ts'
import { defineTool, failure } from '../define-tool.ts'

const NO_DELEGATION =
  'The message was not sent: this server cannot pass messages between agents yet. Go on without the other agent.'

const MESSAGE = { type: 'string', description: 'What to say to the other agent.' }
const AGENT_ID = { type: 'string', description: 'The id of the other agent.' }
const TAGS = { type: 'array', items: { type: 'string' } }

/** Tools for messages to other agents, which Holdfast does not pass on yet: agents that name them learn that. */
export const agentMessageTools: Tool[] = [
  notSent('send_message_to_agent_and_wait_for_reply', {
    description: 'Sends a message to another agent and waits for its reply.',
    properties: { message: MESSAGE, other_agent_id: AGENT_ID },
  }),
  notSent('send_message_to_agent_async', {
    description: 'Sends a message to another agent and does not wait.',
    properties: { message: MESSAGE, other_agent_id: AGENT_ID },
  }),
  notSent('send_message_to_agents_matching_tags', {
    description: 'Sends a message to all agents with these tags.',
    properties: {
      message: MESSAGE,
      match_all: { ...TAGS, description: 'Tags that an agent must all have.' },
      match_some: { ...TAGS, description: 'Tags of which an agent must have at least one.' },
    },
  }),
]

function notSent(name: string, { description, properties }: { description: string; properties: JsonObject }): Tool {
  return defineTool({
    name,
    description,
    inputSchema: { type: 'object', properties, required: Object.keys(properties) },
    effects: 'none',
    run: async () => failure(NO_DELEGATION),
  })
}
