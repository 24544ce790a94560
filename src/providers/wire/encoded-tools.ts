import type { ModelRequest, ToolSpec } from '../../ports/model.ts'
import { relaxedSchema } from './relaxed-schema.ts'

/** `strict`: the vendor is asked to guarantee that arguments match the schema. */
export type ToolForm = 'as-given' | 'relaxed' | 'strict'

type EncodedTools = (tools: readonly ToolSpec[], form: ToolForm) => string

/** Encodes tools, separated by commas; each encoding is cached as long as its tool. */
export function newEncodedTools(encode: (tool: ToolSpec, form: ToolForm) => object): EncodedTools {
  const texts: Record<ToolForm, WeakMap<ToolSpec, string>> = {
    'as-given': new WeakMap(),
    relaxed: new WeakMap(),
    strict: new WeakMap(),
  }

  function textOf(tool: ToolSpec, form: ToolForm): string {
    const known = texts[form].get(tool)
    if (known !== undefined) return known
    const inputSchema = form === 'relaxed' ? relaxedSchema(tool.inputSchema) : tool.inputSchema
    const text = JSON.stringify(encode({ ...tool, inputSchema }, form))
    texts[form].set(tool, text)
    return text
  }

  return (tools, form) => tools.map((tool) => textOf(tool, form)).join(',')
}

/** A server that rejected a schema gets relaxed ones, which guarantee nothing. */
export function toolForm({ adjustments, settings }: Pick<ModelRequest, 'adjustments' | 'settings'>): ToolForm {
  if (adjustments?.relaxSchemas) return 'relaxed'
  return settings?.strictTools ? 'strict' : 'as-given'
}

/** Names the tools that cannot be strict although the application asks for it. */
export function notStrict(
  request: Pick<ModelRequest, 'adjustments' | 'settings' | 'tools'>,
  canBeStrict: (tool: ToolSpec) => boolean,
): string[] {
  if (!request.settings?.strictTools || request.tools.length === 0) return []
  if (toolForm(request) === 'relaxed') return ['strict: the server rejected the schemas of the tools']
  const open = request.tools.filter((tool) => !canBeStrict(tool)).map(({ name }) => name)
  return open.length === 0 ? [] : [`strict: the vendor cannot guarantee the schema of ${open.join(', ')}`]
}
