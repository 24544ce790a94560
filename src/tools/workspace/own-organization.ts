import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import type { Tool, ToolContext } from '../../ports/tool.ts'
import { failure } from '../define-tool.ts'

/**
 * Without a sandbox a command can do what the server can. The operator may accept that for the default organization,
 * but other organizations (tenants) must not get access to the machine.
 */
export const forOwnOrganization = (tool: Tool): Tool => ({
  ...tool,
  run: async (input, context) => (isDefaultOrganization(context) ? tool.run(input, context) : failure(REFUSED)),
})

const isDefaultOrganization = ({ organizationId = DEFAULT_ORGANIZATION }: ToolContext): boolean =>
  organizationId === DEFAULT_ORGANIZATION

const REFUSED =
  'This server has no sandbox (HOLDFAST_SANDBOX=local), so only agents of the default organization may use commands and files. Nothing happened.'
