import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { Problem } from '../../core/problem.ts'
import { agentsNamed, requireAgent } from '../../service/agents/agents.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { type HomeSession, withHome } from '../home-session.ts'
import { refuseExisting, writeNewFile } from '../new-file.ts'
import { requireConversationNamed } from '../pick-conversation.ts'
import { printError } from '../print-error.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { safeName } from '../terminal.ts'

type ExportFlags = JsonFlag & { file?: string; force?: boolean; messages: boolean; conversation?: string }

/** An agent file holds whole conversations, so only its owner can read it. */
export const exportOne = (idOrName: string, flags: ExportFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(idOrName, context)
    const query = new URLSearchParams({ scrub_messages: String(!flags.messages) })
    if (flags.conversation !== undefined)
      query.set('conversation_id', (await requireConversationNamed(flags.conversation, context)).conversation.id)
    const path = flags.file ?? `${agent.name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^\.+/, '_')}.af`
    if (path !== '-' && !flags.force) refuseExisting(path)
    const file = await api.request<unknown>('GET', `/v1/agents/${agent.id}/export?${query}`)
    if (path === '-') return printJson(cli.out, file)
    writeNewFile(path, `${JSON.stringify(file, null, 2)}\n`, flags)
    printResult(cli, flags, {
      sentence: `Exported ${safeName(agent.name)} (${agent.id}) to ${path}. Secrets are not in the file.`,
      value: { agent_id: agent.id, name: agent.name, file: resolve(path) },
    })
  })

type ImportFlags = JsonFlag & {
  name?: string
  model?: string
  fallback?: string[] | false
  messages: boolean
  tools: boolean
}

/** Each file is imported whole or not at all. Exit code 1 if one of them was not. */
export const importAll = (named: string[], flags: ImportFlags, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async (session) => {
    const paths = named.flatMap(filesIn)
    if (flags.name !== undefined && paths.length > 1)
      throw new Problem('invalid', '--name is for one file. Import the files one by one to name them.')
    const { out } = cli
    const imported: { file: string; agents: { id: string; name: string }[] }[] = []
    let exit = 0
    for (const path of paths) {
      try {
        const agents = await importFile(path, flags, session)
        imported.push({ file: path, agents })
        if (!flags.json) for (const { id, name } of agents) out.line(`Imported ${safeName(name)} (${id}) from ${path}.`)
      } catch (fault) {
        if (!(fault instanceof Problem) || paths.length === 1) throw fault
        exit = 1
        printError(new Problem(fault.kind, `${path}: ${fault.message}`), cli)
      }
    }
    if (flags.json) printJson(out, imported)
    return exit
  })

/** The agent files of a folder, in order of their names. */
function filesIn(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  const files = readdirSync(path)
    .filter((name) => /\.(af|json)$/i.test(name))
    .sort()
  if (files.length > 0) return files.map((name) => join(path, name))
  throw new Problem('not-found', `The folder ${path} has no agent files (.af or .json).`)
}

async function importFile(path: string, flags: ImportFlags, { context, api }: HomeSession) {
  const bytes = readAgentFile(path)
  const isTaken = await hasTakenName(bytes, flags.name, context)
  const form = new FormData()
  form.set('file', new Blob([bytes]), basename(path))
  // The API adds `_copy` to every name unless told otherwise; here only where the name is taken.
  form.set('append_copy_suffix', String(isTaken))
  form.set('override_existing_tools', String(flags.tools))
  form.set('strip_messages', String(!flags.messages))
  if (flags.name !== undefined) form.set('name', flags.name)
  if (flags.model !== undefined) form.set('model', flags.model)
  if (flags.fallback !== undefined) form.set('fallback', flags.fallback === false ? 'none' : flags.fallback.join(','))
  const { agent_ids } = await api.request<{ agent_ids: string[] }>('POST', '/v1/agents/import', form)
  const agents = await Promise.all(agent_ids.map((id) => requireAgent(id, context)))
  return agents.map(({ id, name }) => ({ id, name }))
}

function readAgentFile(path: string): Buffer<ArrayBuffer> {
  try {
    return readFileSync(path)
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException
    const why = code === 'EISDIR' ? 'is a folder' : code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`
    throw new Problem('not-found', `The file ${path} ${why}.`)
  }
}

async function hasTakenName(bytes: Buffer, name: string | undefined, context: ServiceContext): Promise<boolean> {
  const names = name === undefined ? namesIn(bytes) : [name]
  const found = await Promise.all(names.map((one) => agentsNamed(one, context)))
  return found.some((agents) => agents.length > 0)
}

function namesIn(bytes: Buffer): string[] {
  try {
    const { agents = [] } = JSON.parse(bytes.toString('utf8')) as { agents?: { name?: unknown }[] }
    return agents.flatMap(({ name }) => (typeof name === 'string' ? [name] : []))
  } catch {
    // The server says what is wrong with the file.
    return []
  }
}
