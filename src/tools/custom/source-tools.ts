import { defined } from '../../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import type { Json } from '../../core/json.ts'
import { unmetRequirements } from '../../core/python-requirements.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../ports/tool.ts'
import type { ToolSources } from '../../ports/tool-sources.ts'
import { defineTool, failure } from '../define-tool.ts'
import { forOwnOrganization } from '../workspace/own-organization.ts'
import { newProgramRunner } from './run-program.ts'
import { answerOf } from './source-answer.ts'
import { callEnvironment, codeOfCall, languageOf, sourceProgram } from './source-program.ts'
import { OVERHEAD_MS, type SourceToolDeps } from './source-tool-deps.ts'

/** A server that takes a call over gives it the whole time again. */
const EGRESS_MARGIN_SECONDS = 60

/**
 * Tools from source. A call is a process under the supervisor of its conversation's workspace, so its result survives the
 * death of the server. The key of the call is the key of the process: it never runs twice.
 */
export function newSourceTools(deps: SourceToolDeps): ToolSources {
  const { workspaces, containment, digest, packages, timeoutSeconds } = deps
  const runner = newProgramRunner(deps)

  async function whyItCannotRun(stored: StoredTool, context: ToolContext): Promise<string | undefined> {
    if (stored.sourceCode === '') return `${stored.name} has no source on this server, so it did not run.`
    const { pip_requirements: pip, npm_requirements: npm } = stored.wire
    if (languageOf(stored) === 'typescript') {
      const names = unmetRequirements(npm, undefined)
      return names.length > 0
        ? `${stored.name} did not run: npm packages (${names.join(', ')}) cannot be installed for tools on this server.`
        : undefined
    }
    const missing = unmetRequirements(pip, await packages.of(organizationOf(context)))
    return missing.length > 0 ? missingText(stored.name, missing) : undefined
  }

  async function programOf(stored: StoredTool, input: Json, context: ToolContext) {
    const organizationId = organizationOf(context)
    const [agent, blocks, secrets, set] = await Promise.all([
      deps.agentOf(organizationId, context.agentId),
      deps.blocksOf(organizationId, context.conversationId),
      deps.secretsOf(organizationId, context.agentId),
      packages.of(organizationId),
    ])
    const domains = [...new Set([...(stored.egress ?? []), ...(agent?.settings?.egress ?? [])])]
    const egress = await workspaces.openEgress({
      conversationId: context.conversationId,
      domains,
      seconds: timeoutSeconds + EGRESS_MARGIN_SECONDS,
    })
    const view = {
      id: context.agentId,
      name: agent?.name ?? '',
      system: agent?.system ?? '',
      blocks: blocks.map(({ label, value, limit, description = '' }) => ({ label, value, limit, description })),
    }
    const program = sourceProgram(codeOfCall(stored, input), {
      agent: view,
      environment: { ...egress, ...secrets, ...callEnvironment(stored, context) },
      packages: set?.id,
      containment,
      ...defined({ python: deps.python }),
    })
    return { ...program, hasEgress: Object.keys(egress).length > 0 }
  }

  const toAnswer =
    ({ name }: StoredTool, context: ToolContext) =>
    (ended: Parameters<typeof answerOf>[1]['ended'], process: Parameters<typeof answerOf>[1]['process']) =>
      answerOf(name, { ended, process, blocks: () => deps.blocksOf(organizationOf(context), context.conversationId) })

  function toTool(stored: StoredTool): Tool {
    const { name, description, jsonSchema, needsApproval, parallel, returnCharLimit, effects = 'once' } = stored
    const program = (input: Json, context: ToolContext) => ({
      title: `tool ${name}`,
      name,
      isRepeatable: effects !== 'once',
      build: () => programOf(stored, input, context),
      toAnswer: toAnswer(stored, context),
    })
    const tool = defineTool<Json>({
      name,
      description,
      needsApproval,
      parallel,
      outputLimit: returnCharLimit,
      inputSchema: jsonSchema.parameters ?? { type: 'object' },
      effects: effects === 'once' ? 'verifiable' : effects,
      sourceHash: digest(stored.sourceCode),
      timeoutMs: timeoutSeconds * 1_000 + OVERHEAD_MS,
      ...defined({ approvalReason: containment === 'local' ? () => 'it runs without a sandbox' : undefined }),
      async run(input, context): Promise<ToolAnswer> {
        const reason = await whyItCannotRun(stored, context)
        return reason === undefined ? runner.run(program(input, context), context) : failure(reason)
      },
      verify: (input, context) => runner.verify(program(input, context), context),
    })
    return containment === 'local' ? forOwnOrganization(tool) : tool
  }

  return { toTool }
}

const organizationOf = ({ organizationId = DEFAULT_ORGANIZATION }: ToolContext) => organizationId

const missingText = (name: string, missing: readonly string[]): string =>
  `${name} did not run: it needs Python packages that are not installed for tools here: ${missing.join(', ')}. An operator can add them with \`holdfast tools env add\`.`
