import type { CommandApproval } from '../../core/command-approval.ts'
import { defined } from '../../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../ports/tool.ts'
import type { ProcessEnding } from '../../ports/workspaces.ts'
import { defineTool, failure, yieldingToStored } from '../define-tool.ts'
import { forOwnOrganization } from '../workspace/own-organization.ts'
import { newProgramRunner } from './run-program.ts'
import { answerOf, type EndedSource } from './source-answer.ts'
import { sourceProgram } from './source-program.ts'
import { OVERHEAD_MS, type SourceToolDeps } from './source-tool-deps.ts'

type RunCodeInput = { code: string; language: (typeof LANGUAGES)[number] }

const LANGUAGES = ['python', 'js', 'ts', 'r', 'java'] as const
/** The retired server's sandbox had them too. */
const NOT_HERE: readonly string[] = ['r', 'java']

/** `run_code` of the retired server, by its name and with its result. It sees the files of the conversation, no secrets and no network. */
export function runCode(deps: SourceToolDeps): Tool {
  const { containment, packages, timeoutSeconds } = deps
  const runner = newProgramRunner(deps)

  const callOf = ({ code, language }: RunCodeInput, context: ToolContext) => ({
    title: `run_code ${language}`,
    name: 'run_code',
    isRepeatable: false,
    build: async () => {
      const set = await packages.of(context.organizationId ?? DEFAULT_ORGANIZATION)
      const { agentId: id } = context
      return sourceProgram(
        {
          name: 'code',
          source: code,
          language: language === 'python' ? 'python' : 'typescript',
          function: null,
          arguments: {},
          argsSchema: null,
          positions: null,
        },
        {
          agent: { id, name: '', system: '', blocks: [] },
          environment: { NO_COLOR: '1', TERM: 'dumb', LETTA_AGENT_ID: id },
          packages: set?.id,
          containment,
          ...defined({ python: deps.python }),
        },
      )
    },
    toAnswer: async (ended: EndedSource, process: { ending?: ProcessEnding }) => toAnswer(ended, process),
  })

  const tool = defineTool<RunCodeInput>({
    name: 'run_code',
    description:
      'Runs code in a sandbox, with the files of this conversation as its folder and without network. Supports Python, JavaScript and TypeScript. The value of the last expression is the result; print what else you need.',
    inputSchema: {
      type: 'object',
      properties: {
        code: { type: 'string', minLength: 1, maxLength: 1_000_000, description: 'The code to run.' },
        language: { type: 'string', enum: [...LANGUAGES], description: 'The language of the code.' },
      },
      required: ['code', 'language'],
    },
    effects: 'verifiable',
    timeoutMs: timeoutSeconds * 1_000 + OVERHEAD_MS,
    approvalReason: (_, policy?: CommandApproval) => {
      if (containment === 'local') return 'it runs without a sandbox'
      return policy === 'ask' ? 'this agent asks before each command' : undefined
    },
    run: async (input, context): Promise<ToolAnswer> =>
      NOT_HERE.includes(input.language)
        ? failure(`run_code has no ${input.language} here. Use python, js or ts. Nothing ran.`)
        : runner.run(callOf(input, context), context),
    verify: (input, context) => runner.verify(callOf(input, context), context),
  })
  return yieldingToStored(containment === 'local' ? forOwnOrganization(tool) : tool)
}

async function toAnswer(ended: EndedSource, process: { ending?: ProcessEnding }): Promise<ToolAnswer> {
  const { result, stdout, stderr } = ended
  const { status, output } = await answerOf('run_code', { ended, process, blocks: async () => [] })
  if (status === 'unknown') return { status, output }
  const logs = { stdout: stdout ? [stdout] : [], stderr: stderr ? [stderr] : [] }
  const results = result.type === 'value' && result.value !== null ? [result.value] : []
  const error = result.type === 'error' ? result.error : result.type === 'none' ? output : undefined
  return { status, output: JSON.stringify({ results, logs, ...defined({ error }) }) }
}
