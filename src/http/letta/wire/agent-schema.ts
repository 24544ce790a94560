import { z } from 'zod'
import { ADMISSION_POLICIES } from '../../../core/admission.ts'
import { COMMAND_APPROVALS } from '../../../core/command-approval.ts'
import { dateSchema } from '../../wire-date.ts'
import { sessionExpirySchema } from '../session-expiry-body.ts'
import { blockSchema } from './block.ts'
import { always, alwaysEmpty, alwaysNull } from './constant-field.ts'
import { approvalRequestMessageSchema } from './message-schema.ts'
import { stopReasonSchema } from './stop-reason.ts'
import { storedJson, storedObject } from './stored-json.ts'
import { toolSchema } from './tool.ts'

export const memorySchema = z.lazy(() =>
  z
    .object({
      blocks: z.array(blockSchema).describe('Blocks of the agent, in the order of its prompt.'),
      file_blocks: alwaysEmpty,
      agent_type: z.string().describe('The same as `agent_type` of the agent.'),
      git_enabled: always(false),
      prompt_template: always(''),
    })
    .meta({ id: 'Memory', description: 'The memory of an agent.' }),
)

const secretSchema = z.lazy(() =>
  z.object({
    id: z.string(),
    key: z.string().describe('Name of the secret.'),
    value: z.string().describe('Value of the secret; empty for API keys with the scope `read`.'),
    agent_id: z.string(),
    description: alwaysNull,
    created_at: alwaysNull,
    updated_at: alwaysNull,
    created_by_id: alwaysNull,
    last_updated_by_id: alwaysNull,
  }),
)

const llmConfigSchema = z.lazy(() =>
  z.object({
    model: z.string().describe('Model without its provider.'),
    handle: z.string().describe('Model as provider/model.'),
    provider_name: z.string(),
    provider_category: always('base'),
    model_endpoint_type: z.string().describe('API that the provider speaks.'),
    model_endpoint: alwaysNull,
    model_wrapper: alwaysNull,
    context_window: z
      .int()
      .describe('Context window in tokens: that of the model, or `context_window_limit` if smaller.'),
    temperature: storedJson.describe('`temperature` of `model_settings`, or 1.'),
    max_tokens: storedJson.describe('`max_output_tokens` of `model_settings`, or null.'),
    parallel_tool_calls: storedJson.describe('`parallel_tool_calls` of `model_settings`, or true.'),
    strict: storedJson.describe('`strict` of `model_settings`, or false.'),
    enable_reasoner: storedJson.describe('`enable_reasoner` as it was sent, or true.'),
    reasoning_effort: storedJson.describe('`reasoning.reasoning_effort` of `model_settings`, or null.'),
    max_reasoning_tokens: storedJson.describe('`thinking.budget_tokens` of `model_settings`, or 0.'),
    put_inner_thoughts_in_kwargs: always(false),
    response_format: storedJson.describe('`response_format` of `model_settings`, or null.'),
    display_name: alwaysNull,
    effort: storedJson.describe('`effort` of `model_settings`, or null.'),
    verbosity: storedJson.describe('`verbosity` of `model_settings`, or null.'),
    frequency_penalty: storedJson.describe('`frequency_penalty` of `model_settings`, or null.'),
    tier: alwaysNull,
    compatibility_type: alwaysNull,
  }),
)

const secretsSchema = z.lazy(() => z.array(secretSchema))

export const agentSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      name: z.string(),
      system: z.string().describe('Instructions that begin the system prompt; memory is added to them.'),
      agent_type: z.string().describe('Type of the agent. It decides how the prompt shows blocks.'),
      description: z.string().nullable(),
      metadata: storedObject
        .nullable()
        .describe(
          'Data of the application. Holdfast adds `missing_tools`, `unkept_secrets`, `not_imported` and `unreadable_secrets` where they apply.',
        ),
      model: z.string().describe('Model as provider/model.'),
      fallback: z
        .array(z.string())
        .describe('Failover models, in order, as provider/model; empty for the default chain of the server.'),
      embedding: storedJson.describe('Embedding model as provider/model; null for that of the server.'),
      embedding_config: storedObject
        .nullable()
        .describe(
          'The embedding model in the form of older clients: that of `embedding`, else that of the server, else null. Clients before 1.0, which require one, get the model `none`.',
        ),
      llm_config: llmConfigSchema.describe('The model in the form of older clients.'),
      model_settings: storedObject.describe('Model settings as they were sent, with `provider_type` of the model.'),
      response_format: storedJson.describe('`response_format` of `model_settings`, or null.'),
      compaction_settings: storedJson.describe(
        'How conversations are summarized; null for the settings of the server.',
      ),
      memory: memorySchema,
      blocks: z.array(blockSchema).describe('Blocks of the agent; empty unless `blocks` is included.'),
      tools: z.array(toolSchema).describe('Tools of the agent; empty unless `tools` is included.'),
      tags: z.array(z.string()).describe('Tags of the agent; empty unless `tags` is included.'),
      sources: alwaysEmpty,
      secrets: secretsSchema.describe('Secrets of the agent; empty unless `secrets` is included.'),
      tool_exec_environment_variables: secretsSchema.describe('The same as `secrets`.'),
      identities: alwaysEmpty,
      identity_ids: alwaysEmpty,
      tool_rules: z.array(storedObject).describe('Rules about when tools are called, approval included.'),
      message_ids: z
        .array(z.string())
        .describe('Messages in the context of the default conversation, in order, the system prompt first.'),
      pending_approval: approvalRequestMessageSchema
        .nullable()
        .describe(
          'Calls of the default conversation that wait for approval; null unless `pending_approval` is included.',
        ),
      managed_group: alwaysNull,
      multi_agent_group: alwaysNull,
      last_stop_reason: stopReasonSchema.nullable().describe('Why the last run of the agent ended.'),
      last_run_completion: dateSchema.nullable().describe('When the last run of the agent ended.'),
      last_run_duration_ms: z.number().nullable().describe('How long the last run of the agent took.'),
      timezone: z.string().describe('Time zone as it was sent, or UTC.'),
      hidden: z.boolean().nullable().describe('Flag of the application; lists include hidden agents.'),
      when_busy: z
        .enum(ADMISSION_POLICIES)
        .nullable()
        .describe(
          'What a message does while a turn runs; null for the default of each route. Only Holdfast has this field.',
        ),
      session_expiry: sessionExpirySchema,
      command_approval: z
        .enum(COMMAND_APPROVALS)
        .nullable()
        .describe(
          'Which commands wait for approval in a sandbox; null for those that destroy or cannot be read. Only Holdfast has this field.',
        ),
      egress: z
        .array(z.string())
        .describe('Domains that its tools from source may reach. Only Holdfast has this field.'),
      message_buffer_autoclear: storedJson.describe('The value that was sent, or false.'),
      enable_sleeptime: storedJson.describe('The value that was sent, or null.'),
      max_files_open: storedJson.describe('The value that was sent, or null.'),
      per_file_view_window_char_limit: storedJson.describe('The value that was sent, or null.'),
      project_id: alwaysNull,
      template_id: alwaysNull,
      base_template_id: alwaysNull,
      deployment_id: alwaysNull,
      entity_id: alwaysNull,
      created_at: dateSchema,
      updated_at: dateSchema,
      created_by_id: alwaysNull,
      last_updated_by_id: alwaysNull,
    })
    .meta({ id: 'Agent', description: 'A model with instructions, memory and tools.' }),
)

export type WireAgent = z.output<typeof agentSchema>
export type WireSecret = z.output<typeof secretSchema>
export type WireLlmConfig = z.output<typeof llmConfigSchema>
