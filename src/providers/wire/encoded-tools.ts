import type { ToolSpec } from '../../ports/model.ts'
import { relaxedSchema } from './relaxed-schema.ts'

type EncodedTools = (tools: readonly ToolSpec[], schemas: 'as-given' | 'relaxed') => string

/** Encodes tools, separated by commas; each encoding is cached as long as its tool. */
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
