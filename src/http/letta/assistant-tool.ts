import { z } from 'zod'
import { type Message, NO_RUN } from '../../core/message.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import { flag } from '../field.ts'

/**
 * Agents of older servers speak by calling a tool: `send_message({ message })`. Their calls are shown as assistant
 * messages. Without an explicit choice only imported messages and calls of the built-in tool are: a tool that an
 * organization named so may send something else to somewhere else.
 */
export type AssistantTool = { tool: string; kwarg: string; isImportedOnly: boolean }

const DEFAULT_TOOL = 'send_message'
const DEFAULT_KWARG = 'message'

export const IMPORTED_SPEECH: AssistantTool = { tool: DEFAULT_TOOL, kwarg: DEFAULT_KWARG, isImportedOnly: true }

export const assistantToolQuery = {
  use_assistant_message: flag
    .optional()
    .describe(
      'Whether calls of the tool that speaks are shown as assistant messages, without their results. Default: imported messages and calls of the built-in `send_message`.',
    ),
  assistant_message_tool_name: z.string().max(200).optional().describe('Tool that speaks. Default: `send_message`.'),
  assistant_message_tool_kwarg: z.string().max(200).optional().describe('Argument with the text. Default: `message`.'),
}

type AssistantToolQuery = z.output<z.ZodObject<typeof assistantToolQuery>>

export function assistantToolOf(query: AssistantToolQuery): AssistantTool | 'none' {
  const { use_assistant_message: isWanted, assistant_message_tool_name: tool, assistant_message_tool_kwarg } = query
  if (isWanted === false) return 'none'
  return {
    tool: tool ?? DEFAULT_TOOL,
    kwarg: assistant_message_tool_kwarg ?? DEFAULT_KWARG,
    isImportedOnly: isWanted === undefined && tool === undefined,
  }
}

/** What the call says, if it is to be shown as an assistant message. */
export function speechOf(
  { tool, input, needsApproval, isSpeech }: Pick<ToolCall, 'tool' | 'input' | 'needsApproval' | 'isSpeech'>,
  { runId }: Pick<Message, 'runId'>,
  speaking: AssistantTool | 'none',
): string | undefined {
  if (speaking === 'none' || tool !== speaking.tool || needsApproval) return undefined
  if (speaking.isImportedOnly && runId !== NO_RUN && !isSpeech) return undefined
  const text = (input as Record<string, unknown> | null)?.[speaking.kwarg]
  return typeof text === 'string' ? text : undefined
}
