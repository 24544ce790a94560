import type { Tool } from '../../ports/tool.ts'
import type { BuiltinToolDeps } from '../builtin/builtin-tool-deps.ts'
import { defineTool, failure, success } from '../define-tool.ts'

const DEFAULT_PAUSE_SECONDS = 0.5

export const slowCount = ({ clock }: Pick<BuiltinToolDeps, 'clock'>): Tool =>
  defineTool<{ to: number; pauseSeconds?: number }>({
    name: 'slow_count',
    description: 'Counts aloud from 1 to a number, slowly, so that people can watch it work or stop it.',
    inputSchema: {
      type: 'object',
      properties: {
        to: { type: 'integer', minimum: 1, maximum: 100 },
        pauseSeconds: { type: 'number', minimum: 0, maximum: 5, description: 'between two numbers; usually 0.5' },
      },
      required: ['to'],
      additionalProperties: false,
    },
    effects: 'none',
    parallel: true,
    // The longest count its schema allows takes 100 times 5 seconds.
    timeoutMs: 600_000,
    run: async ({ to, pauseSeconds = DEFAULT_PAUSE_SECONDS }, { signal, progress }) => {
      for (let number = 1; number <= to; number++) {
        if (signal.aborted) return failure(`Stopped before ${number}; the count should have reached ${to}.`)
        progress(`${number} of ${to}`)
        if (number < to) await clock.sleep(pauseSeconds * 1_000, signal)
      }
      return success(`Counted from 1 to ${to}.`)
    },
  })
