import { openSchema, type SchemaDocument } from '../core/json-schema/schema-document.ts'
import { validate } from '../core/json-schema/validate.ts'
import { newWorkBudget, OverBudget } from '../core/work-budget.ts'
import type { Tool, ToolRegistry } from '../ports/tool.ts'
import { describeFault } from './describe-fault.ts'

/** A program that embeds Holdfast may have had its own tool with a name that Holdfast has taken since. */
export const withoutReplaced = (builtin: readonly Tool[], own: readonly Tool[]): Tool[] => [
  ...builtin.filter((tool) => !(tool.yieldsToStored && own.some(({ name }) => name === tool.name))),
  ...own,
]

export function toolRegistry(tools: readonly Tool[]): ToolRegistry {
  const byName = new Map<string, Tool>()
  for (const tool of tools) {
    if (byName.has(tool.name)) throw new Error(`Two tools are named "${tool.name}". Rename one of them.`)
    byName.set(tool.name, tool)
  }
  return {
    find: (name) => byName.get(name),
    names: () => [...byName.keys()],
    inputFault: newInputChecker(),
  }
}

/** Steps of one validation: some 0.3 s at most, a thousand times the work of a large real call. */
const MAX_STEPS = 5_000_000

/** Schemas are interpreted, not compiled: they may be untrusted, and compiling would execute generated code. */
function newInputChecker(): ToolRegistry['inputFault'] {
  // By identity, not by name: a replaced tool has a new schema.
  const documents = new WeakMap<Tool, SchemaDocument>()
  return (tool, input) => {
    try {
      const document = documents.get(tool) ?? openSchema(tool.inputSchema)
      documents.set(tool, document)
      const errors = validate(input, document, newWorkBudget(MAX_STEPS))
      return errors.length === 0 ? undefined : describeFault(tool, input, errors)
    } catch (error) {
      const why = error instanceof OverBudget ? 'its schema takes too much work for this input' : 'its schema is broken'
      return `The input of ${tool.name} cannot be checked because ${why}: ${(error as Error).message}`
    }
  }
}
