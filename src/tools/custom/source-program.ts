import type { Block } from '../../core/block.ts'
import type { Json } from '../../core/json.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import { positionalParameters } from '../../core/typescript-source.ts'
import type { ToolContext } from '../../ports/tool.ts'
import type { Containment, ProgramRequest } from '../../ports/workspaces.ts'
import { JAVASCRIPT_RUNNER } from './javascript-runner.ts'
import { PYTHON_RUNNER } from './python-runner.ts'

type Language = 'python' | 'typescript'

/** Agent files call the source of some Python tools `json`. */
export const languageOf = ({ sourceType }: Pick<StoredTool, 'sourceType'>): Language =>
  sourceType === 'typescript' || sourceType === 'javascript' ? 'typescript' : 'python'

/** The oldest Python that runs tools: the first with annotations such as `list[str]`. */
const OLDEST_PYTHON = [3, 9]

const DEFAULT_PYTHON = '/usr/bin/python3'
const SANDBOX_NODE = '/holdfast/node'
const SANDBOX_PACKAGES = '/holdfast/packages'

/** What the agent lets its tools know. */
type AgentView = {
  id: string
  name: string
  system: string
  blocks: Pick<Block, 'label' | 'value' | 'limit' | 'description'>[]
}

type Code = {
  name: string
  source: string
  language: Language
  /** Null: the source is a script, and the value of its last expression is the result. */
  function: string | null
  arguments: Json
  argsSchema: Json
  /** Names of arguments in the order of parameters; null: one parameter takes them all. */
  positions: string[] | null
}

type RunOptions = {
  agent: AgentView
  environment: Record<string, string>
  /** The id of the packages that it can import. */
  packages: string | undefined
  containment: Containment
  python?: string
}

export type SourceProgram = Pick<ProgramRequest, 'file' | 'parameters' | 'input' | 'hasEgress'>

/** The program that runs the code, and all it needs to know. Secrets are in its input, which is stored nowhere. */
export function sourceProgram(code: Code, options: RunOptions): SourceProgram {
  const { agent, environment, packages, containment, python = DEFAULT_PYTHON } = options
  const { language, ...call } = code
  const common = { ...call, environment, agent }
  if (language === 'typescript') {
    const file = containment === 'local' ? process.execPath : SANDBOX_NODE
    const parameters = ['--no-warnings', '--input-type=module', '-e', JAVASCRIPT_RUNNER]
    return { file, parameters, input: JSON.stringify({ ...common, isTyped: true }) }
  }
  const input = {
    ...common,
    packages: packages === undefined ? null : `${SANDBOX_PACKAGES}/${packages}`,
    oldest: OLDEST_PYTHON,
  }
  return { file: python, parameters: ['-I', '-u', '-c', PYTHON_RUNNER], input: JSON.stringify(input) }
}

/** The code of one call of a stored tool. */
export function codeOfCall(stored: StoredTool, input: Json): Code {
  const { name, sourceCode: source, jsonSchema, argsSchema = null } = stored
  const language = languageOf(stored)
  return {
    name,
    source,
    language,
    function: name,
    arguments: knownArguments(input, jsonSchema.parameters),
    argsSchema,
    positions: language === 'typescript' ? positionsOf(stored) : null,
  }
}

/** Models of the old agent types send arguments that are no parameters, such as `request_heartbeat`. */
function knownArguments(input: Json, parameters: Json | undefined): Json {
  const properties = isObject(parameters) && isObject(parameters.properties) ? parameters.properties : undefined
  if (!properties || !isObject(input)) return input
  return Object.fromEntries(Object.entries(input).filter(([name]) => name in properties))
}

function positionsOf({ name, sourceCode, jsonSchema: { parameters } }: StoredTool): string[] | null {
  const read = positionalParameters(sourceCode, name)
  if (read !== undefined) return read === 'object' ? null : read
  return isObject(parameters) && isObject(parameters.properties) ? Object.keys(parameters.properties) : []
}

const isObject = (value: Json | undefined): value is { [name: string]: Json } =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** What each tool finds in its environment; the agent's secrets do not replace it. */
export const callEnvironment = (stored: Pick<StoredTool, 'id'>, context: ToolContext): Record<string, string> => ({
  LETTA_AGENT_ID: context.agentId,
  LETTA_TOOL_ID: stored.id,
  LETTA_PROJECT_ID: '',
  HOLDFAST_CONVERSATION_ID: context.conversationId,
  HOLDFAST_CALL_ID: context.idempotencyKey,
  PYTHONUNBUFFERED: '1',
  NO_COLOR: '1',
  TERM: 'dumb',
})
