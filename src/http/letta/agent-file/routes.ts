import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { defined } from '../../../core/defined.ts'
import { Problem } from '../../../core/problem.ts'
import { type AgentImport, exportAgent, importAgents } from '../../../service/agents/agent-file.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { flag } from '../../field.ts'
import { UploadedFile } from '../../multipart.ts'
import { operation } from '../../operation.ts'
import { agentPath, requireAgent, requireAgentConversation } from '../path-params.ts'
import { agentFileSchema, importedSchema } from '../wire/agent-file.ts'
import { type ImportOverrides, readAgentFile } from './agent-file.ts'
import { encodeAgentFile } from './document.ts'

const exportAgentFile = operation({
  route: 'GET /v1/agents/:agent_id/export',
  scope: 'read',
  summary: 'Exports an agent as a file that can be imported elsewhere',
  audit: 'before',
  params: agentPath,
  query: z.object({
    conversation_id: z
      .string()
      .optional()
      .describe('Conversation whose messages are exported. Default: the default conversation.'),
    scrub_messages: flag.optional().describe('Whether to leave out the messages.'),
    use_legacy_format: flag.optional().describe('Not supported: true is answered with 400.'),
  }),
  answer: agentFileSchema,
  async handle({ params, query, reply }, context) {
    const agent = await requireAgent(params.agent_id, context)
    if (query.use_legacy_format)
      throw new Problem('invalid-argument', 'The legacy format is not supported. Omit use_legacy_format.')
    const exported = await exportAgent(
      agent,
      await requireAgentConversation(agent, query.conversation_id, context),
      context,
    )
    const file = encodeAgentFile(exported, { withMessages: !query.scrub_messages }, context)
    return reply.type('application/json; charset=utf-8').send(Readable.from(file))
  },
})

const formText = z.string().optional()

const importForm = z.object({
  file: z
    .instanceof(UploadedFile, { error: 'the agent file is missing' })
    .meta({ type: 'string', format: 'binary', description: 'The agent file.' }),
  append_copy_suffix: flag.optional().describe('Whether `_copy` is added to the name. Default: true.'),
  override_existing_tools: flag
    .optional()
    .describe(
      'Whether custom tools with the same name are replaced for the whole organization. Default: false. An approval that the replaced tool requires stays.',
    ),
  strip_messages: flag.optional().describe('Whether to leave out the messages.'),
  name: formText.describe('Name of the agent, for a file with one agent.'),
  override_name: formText.describe('Older form of `name`.'),
  model: formText.describe('Model that replaces the one in the file, as provider/model.'),
  override_model_handle: formText.describe('Older form of `model`.'),
  fallback: formText.describe('Failover models that replace those in the file, separated by commas, or `none`.'),
  embedding: formText.describe('Embedding model that replaces the one in the file.'),
  override_embedding_handle: formText.describe('Older form of `embedding`.'),
  secrets: formText.describe('Secrets by name, as a JSON object.'),
  env_vars_json: formText.describe('Older form of `secrets`.'),
})

type Form = z.output<typeof importForm>

const importAgentFile = operation({
  route: 'POST /v1/agents/import',
  scope: 'agent',
  summary: 'Imports the agents of a file',
  consumes: 'multipart/form-data',
  body: importForm,
  answer: importedSchema,
  async handle({ body, request }, context) {
    const agents = readAgentFile(body.file.bytes, toImportOverrides(body, request.headers), context)
    return { agent_ids: await importAll(agents, body, context) }
  },
})

export const agentFileOperations = [exportAgentFile, importAgentFile]

/** A file that cannot be imported is a 400. */
async function importAll(agents: readonly AgentImport[], form: Form, context: ServiceContext): Promise<string[]> {
  const sameTool = (form.override_existing_tools ?? false) ? 'replace' : 'keep'
  try {
    return await importAgents(agents, { sameTool }, context)
  } catch (fault) {
    if (fault instanceof Problem && (fault.kind === 'invalid' || fault.kind === 'conflict'))
      throw new Problem('invalid-argument', `The file cannot be imported: ${fault.message}`)
    throw fault
  }
}

function toImportOverrides(form: Form, headers: IncomingHttpHeaders): ImportOverrides {
  const name = form.name ?? form.override_name
  const model = form.model ?? form.override_model_handle
  const embedding = form.embedding ?? form.override_embedding_handle ?? headers['x-override-embedding-model']
  return {
    ...defined({
      name: name || undefined,
      model: model || undefined,
      fallback: form.fallback === undefined ? undefined : listedHandles(form.fallback),
      embedding: typeof embedding === 'string' ? embedding : undefined,
    }),
    suffix: (form.append_copy_suffix ?? true) ? '_copy' : '',
    withMessages: !form.strip_messages,
    secrets: { ...parseSecrets(form.env_vars_json), ...parseSecrets(form.secrets) },
  }
}

const listedHandles = (text: string): string[] =>
  (text.trim() === 'none' ? '' : text)
    .split(',')
    .map((handle) => handle.trim())
    .filter((handle) => handle !== '')

function parseSecrets(text: string | undefined): Record<string, string> {
  if (text === undefined) return {}
  const read = z.record(z.string(), z.string()).safeParse(parseJson(text))
  if (read.success) return read.data
  throw new Problem('invalid-argument', 'body.secrets: must be a JSON object with string values')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
