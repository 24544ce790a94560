import { z } from 'zod'
import { outputItemSchema } from './response.ts'

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter'])

const chatUsageSchema = z.lazy(() =>
  z.object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
    completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
  }),
)

export const chatCompletionSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal('chat.completion'),
      created: z.int(),
      model: z.string(),
      choices: z.array(
        z.object({
          index: z.literal(0),
          message: z.object({
            role: z.literal('assistant'),
            content: z.string().nullable(),
            refusal: z.null(),
            reasoning_content: z.string().optional(),
            tool_calls: z
              .array(
                z.object({
                  id: z.string(),
                  type: z.literal('function'),
                  function: z.object({ name: z.string(), arguments: z.string() }),
                }),
              )
              .optional(),
          }),
          logprobs: z.null(),
          finish_reason: finishReason,
        }),
      ),
      usage: chatUsageSchema,
      holdfast: z
        .object({
          run_id: z.string(),
          conversation_id: z.string(),
          tool_calls: z.array(outputItemSchema).describe('Calls of the tools of the agent, which Holdfast ran.'),
          approvals: z.array(outputItemSchema).describe('Calls that wait for approval, with `on_guarded: ask`.'),
        })
        .describe('Only Holdfast has this field.'),
    })
    .meta({ id: 'ChatCompletion', description: 'The answer of an agent.' }),
)

export type WireChatCompletion = z.output<typeof chatCompletionSchema>

const chatChunkSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal('chat.completion.chunk'),
      created: z.int(),
      model: z.string(),
      choices: z.array(
        z.object({
          index: z.literal(0),
          delta: z.object({
            role: z.literal('assistant').optional(),
            content: z.string().optional(),
            reasoning_content: z.string().optional(),
            tool_calls: z
              .array(
                z.object({
                  index: z.int(),
                  id: z.string().optional(),
                  type: z.literal('function').optional(),
                  function: z.object({ name: z.string().optional(), arguments: z.string().optional() }),
                }),
              )
              .optional(),
          }),
          logprobs: z.null(),
          finish_reason: finishReason.nullable(),
        }),
      ),
      usage: chatUsageSchema.nullable().optional(),
      holdfast: z
        .object({ run_id: z.string(), conversation_id: z.string(), item: outputItemSchema })
        .partial()
        .optional()
        .describe('Calls of the tools of the agent. Only Holdfast has this field.'),
    })
    .meta({ id: 'ChatCompletionChunk', description: 'A piece of the answer of an agent.' }),
)

export type WireChatChunk = z.output<typeof chatChunkSchema>
