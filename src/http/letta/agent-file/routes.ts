import { z } from 'zod'
import { Problem } from '../../../core/problem.ts'
import { exportAgent, type ImportAgent, importAgents } from '../../../service/agents/agent-file.ts'
import type { Desk } from '../../../service/desk.ts'
import type { Routes } from '../../routes.ts'
import { refuse } from '../errors.ts'
import { conversationOf, flag, parsed, requireAgent } from '../parse.ts'
import { type ImportWishes, readAgentFile } from './agent-file.ts'
import { documentOf } from './document.ts'

/** Agents as files: to keep one, or to take it to another server. */
export function registerAgentFileRoutes(routes: Routes): void {
  routes.get(
    '/v1/agents/:agent_id/export',
    async ({ params, query }, desk) => {
      const agent = await requireAgent(params, desk)
      const asked = parsed(exportQuery, query, 'query')
      if (asked.use_legacy_format)
        throw refuse(400, 'INVALID_ARGUMENT: the legacy format is not written any more; leave use_legacy_format out')
      const exported = await exportAgent(agent, await conversationOf(agent, asked.conversation_id, desk), desk)
      return documentOf(asked.scrub_messages ? { ...exported, messages: [] } : exported, desk)
    },
    { query: exportQuery },
  )

  routes.post('/v1/agents/import', async ({ body, headers }, desk) => {
    const form = await formOf(body, headers['content-type'])
    const wishes = readAgentFile(form.file, wishesOf(form.fields, headers), desk)
    return { agent_ids: await carriedOut(wishes, form.fields, desk) }
  })
}

const exportQuery = z.object({
  conversation_id: z.string().optional(),
  scrub_messages: flag.optional(),
  use_legacy_format: flag.optional(),
})

/** What no agent can be made of is a fault of the file. */
async function carriedOut(wishes: readonly ImportAgent[], fields: Fields, desk: Desk): Promise<string[]> {
  const sameTool = (fields.override_existing_tools ?? true) ? 'replace' : 'keep'
  try {
    return await importAgents(wishes, { sameTool }, desk)
  } catch (fault) {
    if (fault instanceof Problem && (fault.kind === 'invalid' || fault.kind === 'conflict'))
      throw refuse(400, `INVALID_ARGUMENT: the file cannot be imported: ${fault.message}`)
    throw fault
  }
}

const formFlag = flag.optional()

const formFields = z.object({
  append_copy_suffix: formFlag,
  override_existing_tools: formFlag,
  strip_messages: formFlag,
  name: z.string().optional(),
  override_name: z.string().optional(),
  model: z.string().optional(),
  override_model_handle: z.string().optional(),
  embedding: z.string().optional(),
  override_embedding_handle: z.string().optional(),
  secrets: z.string().optional(),
  env_vars_json: z.string().optional(),
})

type Fields = z.output<typeof formFields>

async function formOf(body: unknown, type: string | undefined): Promise<{ file: Buffer; fields: Fields }> {
  if (!Buffer.isBuffer(body)) throw refuse(415, 'Send multipart/form-data with the agent file as `file`.')
  const form = await readForm(body, type ?? '')
  const file = form.get('file')
  if (!(file instanceof Blob)) throw refuse(422, 'body.file: the agent file is missing')
  const entries = [...form.entries()].filter(([, value]) => typeof value === 'string')
  const fields = parsed(formFields, Object.fromEntries(entries.filter(([, value]) => value !== '')), 'body')
  return { file: Buffer.from(await file.arrayBuffer()), fields }
}

async function readForm(body: Buffer, type: string): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  } catch {
    throw refuse(422, 'body: is not a form that can be read')
  }
}

function wishesOf(fields: Fields, headers: Record<string, unknown>): ImportWishes {
  const name = fields.name ?? fields.override_name
  const model = fields.model ?? fields.override_model_handle
  const header = headers['x-override-embedding-model']
  const embedding = fields.embedding ?? fields.override_embedding_handle ?? header
  return {
    ...(name ? { name } : {}),
    ...(model ? { model } : {}),
    ...(typeof embedding === 'string' ? { embedding } : {}),
    suffix: (fields.append_copy_suffix ?? true) ? '_copy' : '',
    withMessages: !fields.strip_messages,
    secrets: { ...secretsIn(fields.env_vars_json), ...secretsIn(fields.secrets) },
  }
}

function secretsIn(text: string | undefined): Record<string, string> {
  if (text === undefined) return {}
  const read = z.record(z.string(), z.string()).safeParse(safeJson(text))
  if (read.success) return read.data
  throw refuse(400, 'INVALID_ARGUMENT: secrets must be a JSON object of texts')
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
