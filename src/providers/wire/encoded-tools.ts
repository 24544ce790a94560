import type { ToolSpec } from '../../ports/model.ts'
import { relaxedSchema } from './relaxed-schema.ts'

type EncodedTools = (tools: readonly ToolSpec[], schemas: 'as-given' | 'relaxed') => string

/** The serialized forms of tools, kept as long as the tools themselves; separated by commas. */
export function newEncodedTools(encode: (tool: ToolSpec) => object): EncodedTools {
  const texts = { 'as-given': new WeakMap<ToolSpec, string>(), relaxed: new WeakMap<ToolSpec, string>() }

  function textOf(tool: ToolSpec, schemas: 'as-given' | 'relaxed'): string {
    const known = texts[schemas].get(tool)
    if (known !== undefined) return known
    const inputSchema = schemas === 'relaxed' ? relaxedSchema(tool.inputSchema) : tool.inputSchema
    const text = JSON.stringify(encode({ ...tool, inputSchema }))
    texts[schemas].set(tool, text)
    return text
  }

  return (tools, schemas) => tools.map((tool) => textOf(tool, schemas)).join(',')
}
