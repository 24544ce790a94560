import type { CommandApproval } from '../core/command-approval.ts'
import { namedErrorText } from '../core/error-text.ts'
import type { Json } from '../core/json.ts'
import type { Tool, ToolAnswer, ToolContext, Verification } from '../ports/tool.ts'

type Defaulted = 'effects' | 'parallel' | 'needsApproval' | 'outputLimit' | 'timeoutMs'

/** `Input` is the type of the schema: the registry validates the input before the tool runs. */
type ToolDefinition<Input> = Omit<Tool, Defaulted | 'run' | 'verify' | 'approvalReason'> &
  Partial<Pick<Tool, Defaulted>> & {
    run(input: Input, context: ToolContext): Promise<ToolAnswer>
    verify?(input: Input, context: ToolContext): Promise<Verification>
    approvalReason?(input: Input, policy?: CommandApproval): string | undefined
  }

/** Defaults for a tool that declares nothing: the safest choice. */
const DEFAULTS: Pick<Tool, Defaulted> = {
  effects: 'once',
  parallel: false,
  needsApproval: false,
  outputLimit: 50_000,
  timeoutMs: 120_000,
}

/** A complete tool that never throws: an exception becomes an error answer, or `unknown` in a verification. */
export function defineTool<Input = Json>(definition: ToolDefinition<Input>): Tool {
  const { run, verify, approvalReason, ...declared } = definition
  const asking = approvalReason && {
    approvalReason: (input: Json, policy?: CommandApproval) => approvalReason(input as Input, policy),
  }
  const tool: Tool = { ...DEFAULTS, ...declared, ...asking, run: catchRunErrors(declared.name, run) }
  if (tool.effects === 'verifiable' && !verify) throw new Error(`${tool.name} is verifiable but has no verify`)
  return verify ? { ...tool, verify: catchVerifyErrors(verify) } : tool
}

const catchRunErrors =
  <Input>(name: string, run: ToolDefinition<Input>['run']): Tool['run'] =>
  async (input, context) => {
    try {
      return await run(input as Input, context)
    } catch (error) {
      return { status: 'error', output: `Error executing function ${name}: ${namedErrorText(error)}` }
    }
  }

const catchVerifyErrors =
  <Input>(verify: NonNullable<ToolDefinition<Input>['verify']>): NonNullable<Tool['verify']> =>
  async (input, context) => {
    try {
      return await verify(input as Input, context)
    } catch {
      return { type: 'unknown' }
    }
  }

/** For names that organizations may have given to their own tools before Holdfast had a tool with that name. */
export const yieldingToStored = (tool: Tool): Tool => ({ ...tool, yieldsToStored: true })

export const success = (output: string): ToolAnswer => ({ status: 'success', output })
export const failure = (output: string): ToolAnswer => ({ status: 'error', output })
