import { z } from 'zod'
import { dateSchema } from '../../wire-date.ts'
import { alwaysNull } from './constant-field.ts'

const common = z.object({
  id: z.string().describe('Id of the stored message. One stored message can be several items of a list.'),
  date: dateSchema.describe('When the message was stored; in a stream, when it was sent.'),
  name: z.string().nullable().describe('Name of the sender, or of the tool that returned; null for other messages.'),
  otid: z.string().nullable().describe('Unique id of this item: the one its sender chose, or one made from the id.'),
  sender_id: alwaysNull,
  step_id: z.string().nullable().describe('Step that produced the message; null for messages outside of a step.'),
  is_err: alwaysNull,
  seq_id: z
    .int()
    .nullable()
    .describe('Number in the stream of the run, for `starting_after`; null outside of streams.'),
  run_id: z.string().nullable().describe('Run that produced the message; null for messages outside of a run.'),
})

const textPart = z.lazy(() => z.object({ type: z.literal('text'), text: z.string(), signature: alwaysNull }))

const imagePart = z.lazy(() =>
  z.object({
    type: z.literal('image'),
    source: z.discriminatedUnion('type', [
      z.object({ type: z.literal('url'), url: z.string() }),
      z.object({
        type: z.literal('base64'),
        media_type: z.string().describe('Media type of the image, such as image/png.'),
        data: z.string().describe('The image in Base64.'),
        detail: alwaysNull,
      }),
    ]),
  }),
)

const contentSchema = z.lazy(() => z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, imagePart]))]))

const toolCallSchema = z.lazy(() =>
  z
    .object({
      name: z.string().describe('Name of the tool.'),
      arguments: z.string().describe('Arguments as JSON text.'),
      tool_call_id: z.string().describe('Id of the call; its result carries the same id.'),
    })
    .meta({ id: 'ToolCall', description: 'A call of a tool by the model.' }),
)

const toolStatus = z.enum(['success', 'error'])
const toolOutput = contentSchema.describe('Result as text, or as a list of parts when it has images.')

const printed = z
  .array(z.string())
  .nullable()
  .describe('What a tool printed that runs from its source; null for others.')

const toolReturnSchema = z.lazy(() =>
  z
    .object({
      type: z.literal('tool'),
      tool_return: toolOutput,
      status: toolStatus,
      tool_call_id: z.string().describe('Id of the call this is the result of.'),
      stdout: printed,
      stderr: printed,
    })
    .meta({ id: 'ToolReturn', description: 'The result of one tool call.' }),
)

const userMessageSchema = z.lazy(() =>
  z
    .object({
      ...common.shape,
      message_type: z.literal('user_message'),
      content: contentSchema.describe('Text, or a list of parts when there are images or several texts.'),
    })
    .meta({ id: 'UserMessage', description: 'What a person or an application sent to the agent.' }),
)

const systemMessageSchema = z.lazy(() =>
  z
    .object({
      ...common.shape,
      message_type: z.literal('system_message'),
      content: contentSchema.describe('Text, or a list of parts when there are images or several texts.'),
    })
    .meta({ id: 'SystemMessage', description: 'The system prompt, or an instruction sent with the role `system`.' }),
)

export const assistantMessageSchema = z.lazy(() =>
  z
    .object({
      ...common.shape,
      message_type: z.literal('assistant_message'),
      content: z.string().describe('Text of the answer; in a token stream, the next piece of it.'),
    })
    .meta({ id: 'AssistantMessage', description: 'Text that the model answered.' }),
)

export const reasoningMessageSchema = z.lazy(() =>
  z
    .object({
      ...common.shape,
      message_type: z.literal('reasoning_message'),
      source: z.literal('reasoner_model').describe('The reasoning comes from the model itself.'),
      reasoning: z.string().describe('Text of the reasoning; in a token stream, the next piece of it.'),
      signature: z.string().nullable().describe('Signature of the provider over the reasoning, where it sent one.'),
    })
    .meta({ id: 'ReasoningMessage', description: 'Reasoning of the model before or between parts of its answer.' }),
)

const hiddenReasoningMessageSchema = z.lazy(() =>
  z
    .object({
      ...common.shape,
      message_type: z.literal('hidden_reasoning_message'),
      state: z.literal('redacted').describe('The provider redacted the reasoning.'),
      hidden_reasoning: alwaysNull,
    })
    .meta({ id: 'HiddenReasoningMessage', description: 'Reasoning that the provider does not show.' }),
)

const calls = {
  tool_call: toolCallSchema.describe('First of `tool_calls`, for clients that read one call only.'),
  tool_calls: z.array(toolCallSchema).describe('Calls of this step, in order.'),
}

const toolCallMessageSchema = z.lazy(() =>
  z
    .object({ ...common.shape, message_type: z.literal('tool_call_message'), ...calls })
    .meta({ id: 'ToolCallMessage', description: 'Tool calls of the model that need no approval.' }),
)

export const approvalRequestMessageSchema = z.lazy(() =>
  z.object({ ...common.shape, message_type: z.literal('approval_request_message'), ...calls }).meta({
    id: 'ApprovalRequestMessage',
    description: 'Tool calls that wait for approval, or for a result of the client.',
  }),
)

const callPieceSchema = z.lazy(() =>
  z
    .object({
      name: z.string().nullable().describe('Name of the tool, in the first piece of a call.'),
      arguments: z
        .string()
        .describe('The next piece of the JSON text. The pieces of a call, joined, are its arguments.'),
      tool_call_id: z.string().describe('Id of the call.'),
    })
    .meta({ id: 'ToolCallDelta', description: 'A piece of a tool call, while the model writes it.' }),
)

const streamedCalls = {
  tool_call: z.union([toolCallSchema, callPieceSchema]),
  tool_calls: z.union([z.array(toolCallSchema), callPieceSchema]),
}
const STREAMED_CALLS = 'With token streaming the arguments arrive in pieces: one piece instead of the list.'

export const toolCallEventSchema = z.lazy(() =>
  z
    .object({ ...common.shape, message_type: z.literal('tool_call_message'), ...streamedCalls })
    .meta({ id: 'ToolCallEvent', description: `Tool calls that need no approval. ${STREAMED_CALLS}` }),
)

export const approvalRequestEventSchema = z.lazy(() =>
  z
    .object({ ...common.shape, message_type: z.literal('approval_request_message'), ...streamedCalls })
    .meta({ id: 'ApprovalRequestEvent', description: `Tool calls that wait for approval. ${STREAMED_CALLS}` }),
)

export const toolReturnMessageSchema = z.lazy(() =>
  z
    .object({
      ...common.shape,
      message_type: z.literal('tool_return_message'),
      tool_return: z.string().describe('Text of the first of `tool_returns`.'),
      status: toolStatus.describe('Status of the first of `tool_returns`.'),
      tool_call_id: z.string().describe('Call id of the first of `tool_returns`.'),
      stdout: printed,
      stderr: printed,
      tool_returns: z.array(toolReturnSchema).describe('Results of all calls of the step, in the order of the calls.'),
    })
    .meta({ id: 'ToolReturnMessage', description: 'Results of the tool calls of one step.' }),
)

const approvalDecisionSchema = z.lazy(() =>
  z.object({
    type: z.literal('approval'),
    tool_call_id: z.string(),
    approve: z.boolean().describe('Whether the call was approved.'),
    reason: z.string().nullable().describe('Why the call was denied, as given with the denial.'),
  }),
)

const clientResultSchema = z.lazy(() =>
  z.object({
    type: z.literal('tool'),
    tool_call_id: z.string(),
    tool_return: toolOutput,
    status: toolStatus,
    stdout: alwaysNull,
    stderr: alwaysNull,
  }),
)

const decisionSchema = z.lazy(() => z.discriminatedUnion('type', [approvalDecisionSchema, clientResultSchema]))

const approvalResponseMessageSchema = z.lazy(() =>
  z
    .object({
      ...common.shape,
      message_type: z.literal('approval_response_message'),
      approvals: z.array(decisionSchema).describe('One decision or client result for each call that waited.'),
      approve: z.boolean().nullable().describe('First decision of `approvals`; null when it holds results only.'),
      approval_request_id: z.string().nullable().describe('Id of the first call that was answered.'),
      reason: z.string().nullable().describe('Why the first decided call was denied, as given with the denial.'),
    })
    .meta({ id: 'ApprovalResponseMessage', description: 'The answer to calls that waited for approval.' }),
)

const summaryMessageSchema = z.lazy(() =>
  z
    .object({
      ...common.shape,
      message_type: z.literal('summary_message'),
      summary: z.string().describe('Text that replaces the earlier messages in the context of the model.'),
      compaction_stats: alwaysNull,
    })
    .meta({ id: 'SummaryMessage', description: 'The summary that compaction wrote in place of earlier messages.' }),
)

export const messageSchema = z.lazy(() =>
  z
    .discriminatedUnion('message_type', [
      userMessageSchema,
      systemMessageSchema,
      assistantMessageSchema,
      reasoningMessageSchema,
      hiddenReasoningMessageSchema,
      toolCallMessageSchema,
      approvalRequestMessageSchema,
      toolReturnMessageSchema,
      approvalResponseMessageSchema,
      summaryMessageSchema,
    ])
    .meta({ id: 'Message', description: 'One item of the history of a conversation. `message_type` names its kind.' }),
)

/** The official client's unit of history: one part of a stored message. */
export type WireMessage = z.output<typeof messageSchema>

export type CommonFields = z.output<typeof common>
export type WireCallPiece = z.output<typeof callPieceSchema>
export type WireCall = z.output<typeof toolCallSchema>
export type WireContent = z.output<typeof contentSchema>
export type WireDecision = z.output<typeof decisionSchema>
export type WireReturn = z.output<typeof toolReturnSchema>
