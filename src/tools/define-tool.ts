import { namedErrorText } from '../core/error-text.ts'
import type { Json } from '../core/json.ts'
import type { Tool, ToolAnswer, ToolContext, Verification } from '../ports/tool.ts'

type Defaulted = 'effects' | 'parallel' | 'needsApproval' | 'outputLimit' | 'timeoutMs'

/** `Input` is what the schema promises: the registry has checked it before a tool sees it. */
type ToolDefinition<Input> = Omit<Tool, Defaulted | 'run' | 'verify' | 'asksFor'> &
  Partial<Pick<Tool, Defaulted>> & {
    run(input: Input, context: ToolContext): Promise<ToolAnswer>
    verify?(input: Input, context: ToolContext): Promise<Verification>
    asksFor?(input: Input): string | undefined
  }

/** The careful choice for whoever declares nothing. */
const DEFAULTS: Pick<Tool, Defaulted> = {
  effects: 'once',
  parallel: false,
  needsApproval: false,
  outputLimit: 50_000,
  timeoutMs: 120_000,
}

/** A complete tool that never throws: what it throws is an error in its answer, or an unknown in its verification. */
export function defineTool<Input = Json>(definition: ToolDefinition<Input>): Tool {
  const { run, verify, asksFor, ...declared } = definition
  const asking = asksFor ? { asksFor: (input: Json) => asksFor(input as Input) } : {}
  const tool: Tool = { ...DEFAULTS, ...declared, ...asking, run: answering(declared.name, run) }
  if (tool.effects === 'verifiable' && !verify) throw new Error(`${tool.name} is verifiable but has no verify`)
  return verify ? { ...tool, verify: verifying(verify) } : tool
}

const answering =
  <Input>(name: string, run: ToolDefinition<Input>['run']): Tool['run'] =>
  async (input, context) => {
    try {
      return await run(input as Input, context)
    } catch (error) {
      return { status: 'error', output: `Error executing function ${name}: ${namedErrorText(error)}` }
    }
  }

const verifying =
  <Input>(verify: NonNullable<ToolDefinition<Input>['verify']>): NonNullable<Tool['verify']> =>
  async (input, context) => {
    try {
      return await verify(input as Input, context)
    } catch {
      return { type: 'unknown' }
    }
  }

export const success = (output: string): ToolAnswer => ({ status: 'success', output })
export const failure = (output: string): ToolAnswer => ({ status: 'error', output })
