import type { Tool, ToolContext } from '../../../src/ports/tool.ts'
import { defineTool, success } from '../../../src/tools/define-tool.ts'
import type { Trap } from './kill-point.ts'

/**
 * Tools whose effects are recorded outside the process, one line each, so that the parent sees every effect.
 * `record` must have written its line before it returns.
 */
export function killTools(record: (line: string) => void, trap?: Trap): Tool[] {
  const work =
    (name: string) =>
    async (_: unknown, { callId, idempotencyKey, runId }: ToolContext) => {
      await pause()
      const crossing = trap?.enter('tool.effect')
      record(JSON.stringify({ tool: name, callId, key: idempotencyKey, runId }))
      crossing?.leave()
      await pause()
      return success(`${name} did it`)
    }
  const inputSchema = { type: 'object' }
  return [
    defineTool({ name: 'once', description: 'an effect that must not happen twice', inputSchema, run: work('once') }),
    defineTool({
      name: 'again',
      description: 'an effect that is recognized by its key',
      inputSchema,
      run: work('again'),
      effects: 'idempotent',
      parallel: true,
    }),
    defineTool({
      name: 'guarded',
      description: 'an effect a person must allow',
      inputSchema,
      run: work('guarded'),
      needsApproval: true,
    }),
  ]
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 3))
