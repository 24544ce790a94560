import type { Tool } from '../../ports/tool.ts'
import type { BuiltinToolDeps } from '../builtin/builtin-tool-deps.ts'
import { defineTool, success } from '../define-tool.ts'

export const rollDice = ({ randomness }: Pick<BuiltinToolDeps, 'randomness'>): Tool =>
  defineTool<{ sides?: number }>({
    name: 'roll_dice',
    description: 'Rolls one die. Call it several times in one answer to roll several at once.',
    inputSchema: {
      type: 'object',
      properties: { sides: { type: 'integer', minimum: 2, maximum: 1_000, description: 'usually 6' } },
      additionalProperties: false,
    },
    effects: 'none',
    parallel: true,
    run: async ({ sides = 6 }) => success(`Rolled ${1 + Math.floor(randomness.fraction() * sides)} (1 to ${sides})`),
  })
