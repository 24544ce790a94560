import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import type { Json } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import { isOver, phaseOf } from '../../core/run.ts'
import { type AgentReply, agentsAsTools, askAgent } from '../../service/agents/agents-as-tools.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { json } from '../field.ts'
import { operation } from '../operation.ts'

/** The newest first; a client that asks for another one gets the newest. */
const PROTOCOL_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

const METHOD_NOT_FOUND = -32_601
const INVALID_PARAMS = -32_602

const rpcBody = z.looseObject({
  jsonrpc: z.literal('2.0').describe('Version of JSON-RPC.'),
  id: z
    .union([z.string(), z.number()])
    .optional()
    .describe('Id of the request; a message without one is not answered.'),
  method: z.string().optional().describe('Method of MCP: `initialize`, `ping`, `tools/list` or `tools/call`.'),
  params: z.record(z.string(), json).optional().describe('Parameters of the method.'),
})

const rpcAnswer = z.lazy(() =>
  z
    .object({
      jsonrpc: z.literal('2.0'),
      id: z.union([z.string(), z.number()]).describe('Id of the request.'),
      result: json.optional().describe('What the method returns.'),
      error: z.object({ code: z.int(), message: z.string() }).optional().describe('Why there is no result.'),
    })
    .meta({ id: 'McpMessage', description: 'A message of MCP.' }),
)

const callParams = z.looseObject({
  name: z.string(),
  arguments: z.looseObject({ message: z.string().min(1), conversation_id: z.string().optional() }).optional(),
  _meta: z.looseObject({ 'holdfast/idempotency-key': z.string().max(200).optional() }).optional(),
})

/** MCP over HTTP without sessions: each request is answered by itself. */
const serveMcp = operation({
  route: 'POST /v1/mcp',
  scope: 'agent',
  summary: 'Offers the agents as tools to programs that speak MCP (streamable HTTP)',
  audit: 'none',
  body: rpcBody,
  example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  answer: rpcAnswer,
  async handle({ body: { id, method, params = {} }, reply }, context) {
    if (id === undefined || method === undefined) return reply.code(202).send()
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, reply.server.serverContext.closing])
    const answer = { jsonrpc: '2.0' as const, id }
    const handler = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined
    if (!handler) return { ...answer, error: { code: METHOD_NOT_FOUND, message: `Holdfast has no method ${method}.` } }
    const result = await handler(params, { context, signal })
    return typeof result === 'string'
      ? { ...answer, error: { code: INVALID_PARAMS, message: result } }
      : { ...answer, result }
  },
})

const listenToMcp = operation({
  route: 'GET /v1/mcp',
  scope: 'agent',
  summary: 'Is refused with 405: Holdfast sends no messages that were not asked for',
  answer: rpcAnswer,
  handle: async ({ reply }) =>
    reply
      .code(405)
      .header('allow', 'POST')
      .send({ detail: 'This server sends no messages that were not asked for. Send requests with POST.' }),
})

export const mcpOperations = [serveMcp, listenToMcp]

type Asked = { context: ServiceContext; signal: AbortSignal }

/** A text says why the parameters are wrong. */
type RpcMethod = (params: Record<string, Json>, asked: Asked) => Promise<Json | string>

const METHODS: Record<string, RpcMethod> = {
  async initialize({ protocolVersion: wanted }) {
    const known = PROTOCOL_VERSIONS.find((version) => version === wanted)
    return {
      protocolVersion: known ?? PROTOCOL_VERSIONS[0]!,
      capabilities: { tools: {} },
      serverInfo: { name: 'holdfast', version: '1' },
      instructions: 'Each tool is an agent that remembers. Say in full what it needs to know.',
    }
  },
  ping: async () => ({}),
  async 'tools/list'(_, { context }) {
    const tools = await agentsAsTools(context)
    return {
      tools: tools.map(({ name, agent }) => ({
        name,
        title: agent.name,
        description: agent.settings?.description ?? `Asks the agent ${agent.name}, and returns what it answers.`,
        inputSchema: {
          type: 'object',
          properties: {
            message: { type: 'string', minLength: 1, description: 'What to say to the agent.' },
            conversation_id: {
              type: 'string',
              description: 'A conversation of the agent. Without it: its default one, which continues.',
            },
          },
          required: ['message'],
        },
      })),
    }
  },
  async 'tools/call'(params, { context, signal }) {
    const call = callParams.safeParse(params)
    if (!call.success) return `tools/call: ${z.prettifyError(call.error)}`
    const { name, arguments: input, _meta } = call.data
    if (!input) return `tools/call: ${name} needs the argument message.`
    const tool = (await agentsAsTools(context)).find((one) => one.name === name)
    if (!tool) return `There is no agent with the tool name "${name.slice(0, 200)}". tools/list has the names.`
    try {
      const { message, conversation_id: conversationId } = input
      const key = _meta?.['holdfast/idempotency-key']
      const question = { message, ...defined({ conversationId, key }) }
      return resultOf(await askAgent(tool.agent, question, { context, signal }))
    } catch (fault) {
      // A caller's mistake or a full queue is a result: the model that called can act on it.
      if (!(fault instanceof Problem)) throw fault
      return { isError: true, content: [{ type: 'text', text: fault.message }] }
    }
  },
}

function resultOf({ run, text }: AgentReply): Json {
  const said = text === '' ? [] : [text]
  const isWaiting = phaseOf(run) === 'waiting'
  const isFine = run.status === 'completed' && !isWaiting
  const note = isFine
    ? []
    : [
        isWaiting
          ? `The agent waits for the approval of a person (${run.id}).`
          : isOver(run)
            ? `The turn of the agent ended with ${run.stopReason ?? run.status} (${run.id}).`
            : `The turn of the agent goes on as ${run.id}.`,
      ]
  return {
    isError: !isFine,
    content: [...said, ...note].map((words) => ({ type: 'text', text: words })),
    _meta: { 'holdfast/run': run.id },
  }
}
