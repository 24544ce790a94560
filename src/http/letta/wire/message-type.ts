import { z } from 'zod'

/** The types of messages that a request can ask for. */
export const messageType = z.enum([
  'system_message',
  'user_message',
  'assistant_message',
  'reasoning_message',
  'hidden_reasoning_message',
  'tool_call_message',
  'tool_return_message',
  'approval_request_message',
  'approval_response_message',
  'summary_message',
  'event_message',
])
