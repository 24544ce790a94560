import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import type { Tool, ToolContext } from '../../ports/tool.ts'
import { failure } from '../define-tool.ts'

/**
 * Without a sandbox a command can do what the server can. People of the organization that runs the server may decide to
 * live with that; it is not for them to decide that other organizations have the machine, too.
 */
export const forOwnOrganization = (tool: Tool): Tool => ({
  ...tool,
  run: async (input, context) => (isOwn(context) ? tool.run(input, context) : failure(REFUSED)),
})

const isOwn = ({ organizationId = DEFAULT_ORGANIZATION }: ToolContext): boolean =>
  organizationId === DEFAULT_ORGANIZATION

const REFUSED =
  'This server has no sandbox (HOLDFAST_SANDBOX=local), so commands and files are for agents of its own organization only. Nothing happened.'
