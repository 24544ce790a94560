import { z } from 'zod'
import type { RunToolResult } from '../../../service/tools/run-tool.ts'
import { alwaysEmpty, alwaysNull } from './constant-field.ts'

export const ranToolSchema = z.lazy(() =>
  z
    .object({
      status: z.enum(['success', 'error']),
      func_return: z.string().describe('Result of the tool, or what went wrong.'),
      stdout: alwaysEmpty,
      stderr: z.array(z.string()).describe('What went wrong; empty when the tool succeeded.'),
      agent_state: alwaysNull,
      sandbox_config_fingerprint: alwaysNull,
    })
    .meta({ id: 'RanTool', description: 'The result of a tool that was run directly, without a model.' }),
)

export const wireRan = ({ status, output }: RunToolResult): z.output<typeof ranToolSchema> => ({
  status,
  func_return: output,
  stdout: [],
  stderr: status === 'error' ? [output] : [],
  agent_state: null,
  sandbox_config_fingerprint: null,
})
