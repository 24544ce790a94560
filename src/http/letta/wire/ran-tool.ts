import { z } from 'zod'
import type { RunToolResult } from '../../../service/tools/run-tool.ts'
import { alwaysNull } from './constant-field.ts'

export const ranToolSchema = z.lazy(() =>
  z
    .object({
      status: z.enum(['success', 'error']),
      func_return: z.string().describe('Result of the tool, or what went wrong.'),
      stdout: z.array(z.string()).describe('What the tool printed.'),
      stderr: z.array(z.string()).describe('What the tool printed there, or else what went wrong.'),
      agent_state: alwaysNull,
      sandbox_config_fingerprint: alwaysNull,
    })
    .meta({ id: 'RanTool', description: 'The result of a tool that was run directly, without a model.' }),
)

export const wireRan = ({ status, output, stdout, stderr }: RunToolResult): z.output<typeof ranToolSchema> => ({
  status,
  func_return: output,
  stdout: stdout ? [stdout] : [],
  stderr: stderr ? [stderr] : status === 'error' ? [output] : [],
  agent_state: null,
  sandbox_config_fingerprint: null,
})
