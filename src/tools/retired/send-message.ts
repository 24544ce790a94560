import type { Tool } from '../../ports/tool.ts'
import { defineTool, success } from '../define-tool.ts'

/** How older agents of the retired server speak to their user. Repeating it changes nothing: the call is the message. */
export const sendMessage: Tool = {
  ...defineTool<{ message: string }>({
    name: 'send_message',
    description: 'Says something to the user.',
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string', description: 'What to say.' } },
      required: ['message'],
    },
    effects: 'none',
    run: async () => success('Sent message successfully.'),
  }),
  isSpeech: true,
}
