import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { Problem } from '../../../core/problem.ts'
import { exportAgent, type ImportAgent, importAgents } from '../../../service/agents/agent-file.ts'
import type { Desk } from '../../../service/desk.ts'
import { flag } from '../../field.ts'
import { operation } from '../../operation.ts'
import { agentPath, conversationOf, requireAgent } from '../addressed.ts'
import { agentFileSchema, importedSchema } from '../wire/agent-file.ts'
import { type ImportWishes, readAgentFile } from './agent-file.ts'
import { documentOf } from './document.ts'

const exportAgentFile = operation({
  route: 'GET /v1/agents/:agent_id/export',
  scope: 'read',
  summary: 'Exports an agent as a file that can be imported elsewhere',
  params: agentPath,
  query: z.object({
    conversation_id: z
      .string()
      .optional()
      .describe('The conversation whose messages are exported; usually the default one.'),
    scrub_messages: flag.optional().describe('Leaves the messages out.'),
    use_legacy_format: flag.optional().describe('Refused: the legacy format is not written any more.'),
  }),
  answer: agentFileSchema,
  async handle({ params, query }, desk) {
    const agent = await requireAgent(params.agent_id, desk)
    if (query.use_legacy_format)
      throw new Problem('invalid-argument', 'the legacy format is not written any more; leave use_legacy_format out')
    const exported = await exportAgent(agent, await conversationOf(agent, query.conversation_id, desk), desk)
    return documentOf(query.scrub_messages ? { ...exported, messages: [] } : exported, desk)
  },
})

const formText = z.string().optional()

const importForm = z.object({
  file: z
    .instanceof(Blob, { error: 'the agent file is missing' })
    .meta({ type: 'string', format: 'binary', description: 'The agent file.' }),
  append_copy_suffix: flag.optional().describe('Whether `_copy` is added to the name; usually it is.'),
  override_existing_tools: flag.optional().describe('Whether tools of the same name are replaced; usually they are.'),
  strip_messages: flag.optional().describe('Leaves the messages out.'),
  name: formText.describe('A name for the agent, where the file has one agent.'),
  override_name: formText.describe('The older spelling of `name`.'),
  model: formText.describe('A model in place of the one in the file, as provider/model.'),
  override_model_handle: formText.describe('The older spelling of `model`.'),
  embedding: formText.describe('An embedding model in place of the one in the file.'),
  override_embedding_handle: formText.describe('The older spelling of `embedding`.'),
  secrets: formText.describe('A JSON object of secrets by name.'),
  env_vars_json: formText.describe('The older spelling of `secrets`.'),
})

type Form = z.output<typeof importForm>

const importAgentFile = operation({
  route: 'POST /v1/agents/import',
  scope: 'agent',
  summary: 'Creates the agents of a file',
  consumes: 'multipart/form-data',
  body: importForm,
  answer: importedSchema,
  async handle({ body, request }, desk) {
    const bytes = Buffer.from(await body.file.arrayBuffer())
    const wishes = readAgentFile(bytes, wishesOf(body, request.headers), desk)
    return { agent_ids: await carriedOut(wishes, body, desk) }
  },
})

export const agentFileOperations = [exportAgentFile, importAgentFile]

/** A file of which no agent can be made is an argument that cannot be used. */
async function carriedOut(wishes: readonly ImportAgent[], form: Form, desk: Desk): Promise<string[]> {
  const sameTool = (form.override_existing_tools ?? true) ? 'replace' : 'keep'
  try {
    return await importAgents(wishes, { sameTool }, desk)
  } catch (fault) {
    if (fault instanceof Problem && (fault.kind === 'invalid' || fault.kind === 'conflict'))
      throw new Problem('invalid-argument', `the file cannot be imported: ${fault.message}`)
    throw fault
  }
}

function wishesOf(form: Form, headers: IncomingHttpHeaders): ImportWishes {
  const name = form.name ?? form.override_name
  const model = form.model ?? form.override_model_handle
  const embedding = form.embedding ?? form.override_embedding_handle ?? headers['x-override-embedding-model']
  return {
    ...(name ? { name } : {}),
    ...(model ? { model } : {}),
    ...(typeof embedding === 'string' ? { embedding } : {}),
    suffix: (form.append_copy_suffix ?? true) ? '_copy' : '',
    withMessages: !form.strip_messages,
    secrets: { ...secretsIn(form.env_vars_json), ...secretsIn(form.secrets) },
  }
}

function secretsIn(text: string | undefined): Record<string, string> {
  if (text === undefined) return {}
  const read = z.record(z.string(), z.string()).safeParse(jsonIn(text))
  if (read.success) return read.data
  throw new Problem('invalid-argument', 'secrets must be a JSON object of texts')
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
