/** How much the old server has. Everything is computed from its number, so that any size takes no memory. */
export type WorldSize = {
  agents: number
  /** Besides the default one. */
  conversations: number
  /** Messages of each conversation, with its system prompt. */
  messages: number
  passages: number
  tools: number
}

export type OldObject = { id: string; [field: string]: unknown }

const DAY = Date.UTC(2025, 2, 1)
const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0')
const uuid = (kind: number, owner: number, number: number): string =>
  `${hex(kind, 2)}${hex(owner, 6)}-${hex(Math.floor(number / 2 ** 40) % 2 ** 16, 4)}-4000-8000-${hex(number % 2 ** 40, 12)}`

export const agentId = (agent: number): string => `agent-${uuid(1, agent, 0)}`
export const blockId = (block: number): string => `block-${uuid(2, block, 0)}`
export const toolId = (tool: number): string => `tool-${uuid(3, tool, 0)}`
export const passageId = (agent: number, index: number): string => `passage-${uuid(4, agent, index)}`
export const conversationId = (agent: number, conversation: number): string => `conv-${uuid(5, agent, conversation)}`
/** The last byte is free: slices and approval requests have ids next to that of their message. */
export const messageId = (agent: number, conversation: number, index: number): string =>
  `message-${uuid(6, agent * 64 + conversation, (index + 1) * 256)}`

export const date = (seconds: number): string => `${new Date(DAY + seconds * 1_000).toISOString().slice(0, 19)}+00:00`

const CUSTOM = `def look_up(name: str) -> str:
    """Looks a name up.

    Args:
        name (str): The name.
    """
    return name
`

export const toolAt = (index: number): OldObject => {
  const name = index === 0 ? 'look_up' : `look_up_${index}`
  const source_code = CUSTOM.replace('look_up', name)
  const parameters = {
    type: 'object',
    properties: { name: { type: 'string', description: 'The name.' } },
    required: ['name'],
  }
  return {
    id: toolId(index),
    name,
    tool_type: 'custom',
    description: 'Looks a name up.',
    source_type: 'python',
    source_code,
    json_schema: { name, description: 'Looks a name up.', parameters },
    args_json_schema: null,
    tags: ['people'],
    return_char_limit: 6_000 + index,
    default_requires_approval: false,
    enable_parallel_execution: false,
    pip_requirements: index === 0 ? [{ name: 'requests', version: null }] : null,
    npm_requirements: null,
    metadata_: {},
    created_at: date(index),
    updated_at: date(index),
  }
}

/** Tools of the old server itself. */
export const coreTools = (): OldObject[] =>
  ['conversation_search', 'archival_memory_insert', 'core_memory_replace'].map((name, index) => ({
    ...toolAt(900_000 + index),
    name,
    tool_type: 'letta_core',
    source_code: null,
  }))

/** Block 0 is shared by all agents; each has a block of its own. */
export const blockAt = (index: number): OldObject => ({
  id: blockId(index),
  label: index === 0 ? 'company' : 'human',
  value: index === 0 ? 'We sell tea.' : `Agent ${index - 1} knows Ada.`,
  // Below the length of the value: the old server never enforced it.
  limit: index === 1 ? 5 : 5_000,
  description: index === 0 ? 'About the company.' : null,
  read_only: index === 0,
  metadata: { index },
  tags: [],
  hidden: null,
  is_template: false,
  template_name: null,
  created_at: date(index),
  updated_at: date(index),
})

export const MODEL = 'test/model'

export function agentAt(index: number, size: WorldSize): OldObject {
  const view = viewOf(index, 0, size)
  return {
    id: agentId(index),
    name: `agent-${index}`,
    system: `You are agent ${index}. {CORE_MEMORY}`,
    agent_type: 'letta_v1_agent',
    description: `The agent number ${index}.`,
    metadata: { team: index % 5 },
    model: MODEL,
    model_settings: { provider_type: 'openai', temperature: 0.3, parallel_tool_calls: true },
    llm_config: {
      model: 'model',
      model_endpoint_type: 'test',
      handle: MODEL,
      context_window: 32_000,
      put_inner_thoughts_in_kwargs: false,
    },
    embedding: 'openai/tiny',
    embedding_config: { embedding_model: 'tiny', embedding_dim: 3, handle: 'openai/tiny' },
    compaction_settings: null,
    tool_rules: [
      { type: 'exit_loop', tool_name: toolAt(index % size.tools).name, prompt_template: null },
      { type: 'requires_approval', tool_name: toolAt(index % size.tools).name, prompt_template: null },
    ],
    blocks: [blockAt(0), blockAt(index + 1)],
    memory: { blocks: [blockAt(0), blockAt(index + 1)], file_blocks: [], prompt_template: '' },
    tools: [toolAt(index % size.tools), coreTools()[0]],
    tags: ['tea', `team-${index % 5}`],
    sources: [],
    identity_ids: [],
    secrets: [
      { key: 'TEA_KEY', value: `secret-${index}`, agent_id: agentId(index), id: `agent-env-${uuid(9, index, 0)}` },
    ],
    tool_exec_environment_variables: [{ key: 'TEA_KEY', value: `secret-${index}` }],
    message_ids: view.map((message) => messageId(index, 0, message)),
    timezone: 'Europe/Oslo',
    hidden: null,
    created_at: date(index * 60),
    updated_at: date(index * 60 + 5),
  }
}

/** Whether the conversation was compacted, and where its summary is stored: between two turns, after messages that stay in view. */
const summaryAt = (agent: number, size: WorldSize): number =>
  agent % 3 === 1 && size.messages > 20 ? size.messages - 4 - ((size.messages - 5) % 10) : -1

/** Numbers of the messages that the model sees, in its order: the system prompt, the summary, the rest. */
export function viewOf(agent: number, conversation: number, size: WorldSize): number[] {
  const summary = conversation === 0 ? summaryAt(agent, size) : -1
  const all = Array.from({ length: size.messages }, (_, index) => index)
  if (summary < 0) return [0, ...all.slice(Math.max(1, size.messages - 30))]
  return [0, summary, ...all.slice(summary - 8).filter((index) => index !== summary)]
}

export const conversationAt = (agent: number, conversation: number, size: WorldSize): OldObject => ({
  id: conversationId(agent, conversation),
  agent_id: agentId(agent),
  summary: `Talk ${conversation} of agent ${agent}`,
  description: null,
  hidden: false,
  in_context_message_ids: viewOf(agent, conversation, size).map((message) => messageId(agent, conversation, message)),
  isolated_block_ids: [],
  model: null,
  model_settings: null,
  created_at: date(agent * 60 + conversation),
  updated_at: date(agent * 60 + conversation),
  last_message_at: date(100_000 + size.messages),
})

/** A passage with its vector, padded with zeros as the old server stores it. */
export const passageAt = (agent: number, index: number): OldObject => ({
  id: passageId(agent, index),
  text: `Fact ${index} of agent ${agent}: whales${index} sing.`,
  tags: index % 2 === 0 ? ['sea'] : [],
  embedding: [0.1, 0.2, (index % 10) / 10, 0, 0, 0, 0, 0],
  embedding_config: { embedding_model: 'tiny', embedding_dim: 3, handle: 'openai/tiny' },
  metadata: {},
  created_at: date(200_000 + index),
})

/** The slices of a stored message, as the API shows them. */
export function slicesAt(agent: number, conversation: number, index: number, size: WorldSize): OldObject[] {
  const id = messageId(agent, conversation, index)
  const common = {
    id,
    date: date(100_000 + index),
    name: null,
    otid: otid(id, 0),
    step_id: null,
    run_id: null,
    seq_id: null,
    is_err: null,
  }
  const summary = conversation === 0 ? summaryAt(agent, size) : -1
  if (index === 0) return [{ ...common, message_type: 'system_message', content: `You are agent ${agent}.` }]
  if (index === summary) {
    const text = `Earlier, agent ${agent} spoke of tea.`
    // Both ways in which the old server stored one.
    if (agent % 2 === 0) return [{ ...common, message_type: 'summary_message', summary: text, compaction_stats: null }]
    return [
      {
        ...common,
        message_type: 'user_message',
        content: JSON.stringify({ type: 'system_alert', message: text, time: 'now' }),
      },
    ]
  }
  const step = (summary >= 0 && index > summary ? index - 2 : index - 1) % 10
  const callId = `call-${agent}-${conversation}-${step < 4 ? index - step : index - step + 7}`
  const call = { name: 'look_up', arguments: JSON.stringify({ name: `Ada ${index}` }), tool_call_id: callId }
  const result = (text: string) => {
    const one = { tool_return: text, status: 'success', tool_call_id: callId, stdout: null, stderr: null }
    return [
      {
        ...common,
        name: 'look_up',
        message_type: 'tool_return_message',
        ...one,
        tool_returns: [{ type: 'tool', ...one }],
      },
    ]
  }
  switch (step) {
    case 1:
      return [
        {
          ...common,
          message_type: 'reasoning_message',
          source: 'reasoner_model',
          reasoning: `I must look ${index}.`,
          signature: null,
        },
        { ...common, otid: otid(id, 1), message_type: 'tool_call_message', tool_call: call, tool_calls: [call] },
      ]
    case 2:
      return result(`Found Ada ${index}.`)
    case 7:
      return [
        { ...common, message_type: 'assistant_message', content: `May I, ${index}?` },
        {
          ...common,
          id: requestOf(id),
          otid: requestOf(id).slice(8),
          message_type: 'approval_request_message',
          tool_call: call,
          tool_calls: [call],
        },
      ]
    case 8:
      return [
        {
          ...common,
          message_type: 'approval_response_message',
          approvals: [{ type: 'approval', tool_call_id: callId, approve: true, reason: null }],
          approve: true,
          approval_request_id: callId,
          reason: null,
        },
      ]
    case 9:
      return result(`Sent ${index}.`)
    case 3:
    case 5:
      return [{ ...common, message_type: 'assistant_message', content: `Answer ${index} of agent ${agent}.` }]
    default:
      return [{ ...common, message_type: 'user_message', content: `Question ${index} to agent ${agent}?` }]
  }
}

const otid = (id: string, slice: number): string => `${id.slice(8, -2)}${hex(slice, 2)}`

/** The id below that of the answer. */
const requestOf = (id: string): string => {
  const number = BigInt(`0x${id.slice(8).replaceAll('-', '')}`) - 1n
  const text = number.toString(16).padStart(32, '0')
  return `message-${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`
}
