import type { Json } from '../../src/core/json.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../src/ports/tool.ts'
import { defineTool, success } from '../../src/tools/define-tool.ts'

export type Work = (input: Json, context: ToolContext) => Promise<ToolAnswer> | ToolAnswer

/** A tool for tests that accepts any input and runs `work`. */
export const tool = (name: string, work: Work = () => success(`${name} done`), more: Partial<Tool> = {}): Tool =>
  defineTool({
    name,
    description: `${name} for tests`,
    inputSchema: { type: 'object' },
    run: async (input, context) => work(input, context),
    ...more,
  })

/** One part of a test waits for it, another part opens it. */
export type Gate<T = void> = { promise: Promise<T>; open(value: T): void }

export function gate<T = void>(): Gate<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { promise, open: resolve }
}
