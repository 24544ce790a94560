import { z } from 'zod'

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete'])

export const outputItemSchema = z.lazy(() =>
  z
    .union([
      z.object({
        type: z.literal('message'),
        id: z.string(),
        role: z.literal('assistant'),
        status: itemStatus,
        content: z.array(
          z.object({
            type: z.literal('output_text'),
            text: z.string(),
            annotations: z.array(z.never()),
            logprobs: z.array(z.never()),
          }),
        ),
      }),
      z.object({
        type: z.literal('reasoning'),
        id: z.string(),
        status: itemStatus,
        summary: z.array(z.never()),
        content: z.array(z.object({ type: z.literal('reasoning_text'), text: z.string() })),
      }),
      z
        .object({
          type: z.literal('function_call'),
          id: z.string(),
          call_id: z.string(),
          name: z.string(),
          arguments: z.string(),
          status: itemStatus,
        })
        .describe('A call of a tool of the caller, which sends its result as `function_call_output`.'),
      z
        .object({
          type: z.literal('mcp_call'),
          id: z.string(),
          server_label: z.string(),
          name: z.string(),
          arguments: z.string(),
          output: z.string().nullable(),
          error: z.string().nullable(),
          status: z.enum(['in_progress', 'completed', 'failed']),
          approval_request_id: z.string().nullable(),
        })
        .describe('A call of a tool of the agent, which Holdfast ran.'),
      z
        .object({
          type: z.literal('mcp_approval_request'),
          id: z.string(),
          server_label: z.string(),
          name: z.string(),
          arguments: z.string(),
        })
        .describe('A call of the agent that waits for approval, with `on_guarded: ask`.'),
    ])
    .meta({ id: 'OpenaiOutputItem', description: 'A part of a response.' }),
)

const responseUsageSchema = z.lazy(() =>
  z.object({
    input_tokens: z.int(),
    input_tokens_details: z.object({ cached_tokens: z.int() }),
    output_tokens: z.int(),
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    total_tokens: z.int(),
  }),
)

export const openaiResponseSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal('response'),
      created_at: z.int(),
      completed_at: z.int().nullable(),
      status: z.enum(['queued', 'in_progress', 'completed', 'failed', 'cancelled', 'incomplete']),
      background: z.boolean(),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
      incomplete_details: z.object({ reason: z.string() }).nullable(),
      model: z.string(),
      output: z.array(outputItemSchema),
      output_text: z.string(),
      conversation: z.object({ id: z.string() }),
      previous_response_id: z.string().nullable(),
      instructions: z.string().nullable(),
      max_output_tokens: z.number().nullable(),
      metadata: z.record(z.string(), z.string()),
      parallel_tool_calls: z.boolean(),
      reasoning: z.object({ effort: z.string().nullish() }).nullable(),
      temperature: z.number().nullable(),
      top_p: z.number().nullable(),
      text: z.object({ format: z.unknown(), verbosity: z.string().nullish() }),
      tool_choice: z.enum(['auto', 'none']),
      tools: z.array(z.unknown()),
      truncation: z.literal('disabled'),
      usage: responseUsageSchema.nullable().describe('Null until the response is over.'),
      user: z.string().nullable(),
      on_guarded: z
        .enum(['deny', 'ask'])
        .describe('What happens to calls that need approval. Only Holdfast has this field.'),
      run_id: z.string().describe('The run behind the response. Only Holdfast has this field.'),
    })
    .meta({ id: 'OpenaiResponse', description: 'A run, as the Responses API shows it.' }),
)

export type WireResponse = z.output<typeof openaiResponseSchema>
