import type { Json } from '../../src/core/json.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../src/ports/tool.ts'
import { defineTool, success } from '../../src/tools/define-tool.ts'

export type ToolWork = (input: Json, context: ToolContext) => Promise<ToolAnswer> | ToolAnswer

/** A tool for tests that accepts any input and runs `work`. */
export const tool = (
  name: string,
  work: ToolWork = () => success(`${name} done`),
  overrides: Partial<Tool> = {},
): Tool =>
  defineTool({
    name,
    description: `${name} for tests`,
    inputSchema: { type: 'object' },
    run: async (input, context) => work(input, context),
    ...overrides,
  })

/** One part of a test awaits `promise` until another part calls `open`. */
export type Gate<T = void> = { promise: Promise<T>; open(value: T): void }

export function gate<T = void>(): Gate<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { promise, open: resolve }
}
