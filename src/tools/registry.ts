import { type Schema, Validator } from '@cfworker/json-schema'
import type { Json } from '../core/json.ts'
import type { Tool, ToolRegistry } from '../ports/tool.ts'
import { describeFault } from './describe-fault.ts'

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

/** Schemas are interpreted, not compiled: they may be untrusted, and compiling would execute generated code. */
function newInputChecker(): ToolRegistry['inputFault'] {
  // By identity, not by name: a replaced tool has a new schema.
  const validators = new WeakMap<Tool, Validator>()
  return (tool, input) => {
    try {
      const validator = validators.get(tool) ?? validatorOf(tool)
      validators.set(tool, validator)
      const { valid, errors } = validator.validate(input)
      return valid ? undefined : describeFault(tool, input, errors)
    } catch (error) {
      return `The input of ${tool.name} cannot be checked because its schema is broken: ${(error as Error).message}`
    }
  }
}

const validatorOf = (tool: Tool): Validator => new Validator(schemaOf(tool.inputSchema), '2020-12', false)

const schemaOf = (schema: Json): Schema | boolean => schema as Schema | boolean
