import type { Tool } from '../../ports/tool.ts'
import { yieldingToStored } from '../define-tool.ts'
import { agentMessageTools } from './agent-message-tools.ts'
import { fileTools } from './file-tools.ts'
import { sendMessage } from './send-message.ts'

/** Built-in tools of the retired server that only agents from there name; those for memory are in `builtin/memory/`. */
export const retiredTools = (): Tool[] => [sendMessage, ...fileTools, ...agentMessageTools].map(yieldingToStored)
