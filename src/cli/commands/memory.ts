import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import type { Agent } from '../../core/agent.ts'
import type { Block } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import { blocksOf, requireBlockOf } from '../../service/agents/agent-blocks.ts'
import { requireAgent, searchAgents } from '../../service/agents/agents.ts'
import { listBlocks, requireBlock } from '../../service/memory/blocks.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { completedId } from '../../service/short-id.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { type HomeSession, withHome } from '../home-session.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { shortId } from '../render/short-id.ts'
import { printFields, printTable } from '../render/table.ts'
import { safeName, safeText } from '../terminal.ts'

export type AgentFlag = JsonFlag & { agent?: string }
type BlockFields = { description?: string; limit?: string; readOnly?: boolean; writable?: boolean }

const MOST = 1_000
/** Agents that share a block and are named in its row. */
const MOST_NAMED = 5

export const listAll = ({ agent, json }: AgentFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const blocks =
      agent === undefined
        ? await listBlocks({}, { limit: MOST, order: 'desc' }, context)
        : await blocksOf(await requireAgent(agent, context), context)
    if (json) return printJson(out, blocks.map(blockJson))
    if (blocks.length === 0) return out.line('No memory blocks.')
    const users = await Promise.all(
      blocks.map(({ id }) => searchAgents({ blockId: id }, { limit: MOST_NAMED, order: 'asc' }, context)),
    )
    const used = new Map(blocks.map(({ id }, index) => [id, users[index]!.map(({ name }) => name).join(', ')]))
    printTable(
      blocks,
      [
        { title: 'LABEL', text: ({ label }) => label, paint: 'bold', shrinksTo: 8 },
        { title: 'AGENTS', text: ({ id }) => used.get(id) || 'none', shrinksTo: 8, longest: 40 },
        { title: 'ID', text: ({ id }) => id, short: ({ id }) => shortId(id) },
        { title: 'SIZE', text: ({ value, limit }) => `${value.length} of ${limit}`, align: 'right' },
        {
          title: 'VALUE',
          text: ({ value, readOnly }) => `${readOnly ? '(read-only) ' : ''}${value}`,
          shrinksTo: 12,
          longest: 80,
        },
      ],
      out,
    )
  })

export const show = (which: string, { agent, json }: AgentFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const block = await requireNamedBlock(which, agent, context)
    if (json) return printJson(out, blockJson(block))
    const users = await searchAgents({ blockId: block.id }, { limit: MOST, order: 'asc' }, context)
    out.line(`${out.look.paint.bold(safeName(block.label))} (${block.id})`)
    printFields(
      [
        ['agents', users.map(({ name }) => safeName(name)).join(', ') || 'none'],
        ['description', block.description && safeText(block.description)],
        ['size', `${block.value.length} of ${block.limit} characters`],
        ['read-only', block.readOnly ? 'yes, agents cannot change it' : ''],
      ],
      out,
    )
    out.line()
    out.line(safeText(block.value))
  })

type SetFlags = AgentFlag & BlockFields

/** Changes a block; with `--agent`, a label that the agent does not have becomes a new block of that agent. */
export const set = (which: string, value: string | undefined, { flags, cli }: { flags: SetFlags; cli: CliContext }) =>
  withHome(cli, 'rows', async (session) => {
    const text = value === '-' ? await readAll(process.stdin) : value
    const fields = { ...defined({ value: text }), ...blockFields(flags) }
    if (Object.keys(fields).length === 0) throw new Problem('invalid', 'Nothing to change. Add a text, or an option.')
    const agent = flags.agent === undefined ? undefined : await requireAgent(flags.agent, session.context)
    const found = await findNamedBlock(which, agent, session.context)
    if (!found && agent) return createFor(agent, { label: which, value: '', ...fields }, { session, flags, cli })
    const { id } = found ?? (await requireNamedBlock(which, flags.agent, session.context))
    await session.api.request('PATCH', `/v1/blocks/${id}`, fields)
    await printBlock('Updated', id, { session, flags, cli })
  })

type PrintOptions = { session: HomeSession; flags: JsonFlag; cli: CliContext }

/** One request creates the block and another attaches it; between them a crash leaves a block that no agent has. */
async function createFor(agent: Agent, block: object, options: PrintOptions): Promise<void> {
  const { id } = await options.session.api.request<{ id: Block['id'] }>('POST', '/v1/blocks/', block)
  await options.session.api.request('PATCH', `/v1/agents/${agent.id}/core-memory/blocks/attach/${id}`)
  await printBlock(`Created for ${safeName(agent.name)}`, id, options)
}

export const create = (label: string, value: string, { flags, cli }: { flags: SetFlags; cli: CliContext }) =>
  withHome(cli, 'rows', async (session) => {
    const text = value === '-' ? await readAll(process.stdin) : value
    const block = { label, value: text, ...blockFields(flags) }
    if (flags.agent !== undefined)
      return createFor(await requireAgent(flags.agent, session.context), block, { session, flags, cli })
    const { id } = await session.api.request<{ id: Block['id'] }>('POST', '/v1/blocks/', block)
    await printBlock('Created', id, { session, flags, cli })
  })

export const edit = (which: string, flags: AgentFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async (session) => {
    const block = await requireNamedBlock(which, flags.agent, session.context)
    const value = inEditor(block, cli.environment.VISUAL || cli.environment.EDITOR || 'vi')
    if (value !== block.value) await session.api.request('PATCH', `/v1/blocks/${block.id}`, { value })
    await printBlock(value === block.value ? 'Unchanged:' : 'Updated', block.id, { session, flags, cli })
  })

function inEditor({ label, value }: Block, editor: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-edit-'))
  const file = join(folder, `${label.replaceAll(/[^\w.-]/g, '_')}.md`)
  try {
    writeFileSync(file, value, { mode: 0o600 })
    // An editor may be given with arguments: `code --wait`.
    const { status, error } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
    if (error || status !== 0)
      throw new Problem(
        'invalid',
        `The editor "${editor}" ended with ${error ? error.message : status}; the block is unchanged. Set EDITOR.`,
      )
    const text = readFileSync(file, 'utf8')
    // Editors end a file with a line break.
    return value.endsWith('\n') ? text : text.replace(/\n$/, '')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Place = { agent: string; block: string }

export const attach = ({ agent, block }: Place, flags: JsonFlag, cli: CliContext): Promise<void> =>
  changeAttachment({ agent, block, verb: 'attach' }, flags, cli)

export const detach = ({ agent, block }: Place, flags: JsonFlag, cli: CliContext): Promise<void> =>
  changeAttachment({ agent, block, verb: 'detach' }, flags, cli)

const changeAttachment = (
  { agent: named, block: which, verb }: Place & { verb: 'attach' | 'detach' },
  flags: JsonFlag,
  cli: CliContext,
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(named, context)
    const block = await requireNamedBlock(which, verb === 'detach' ? named : undefined, context)
    await api.request('PATCH', `/v1/agents/${agent.id}/core-memory/blocks/${verb}/${block.id}`)
    const [done, to] = verb === 'attach' ? ['Attached', 'to'] : ['Detached', 'from']
    printResult(cli, flags, {
      sentence: `${done} ${safeName(block.label)} (${block.id}) ${to} ${safeName(agent.name)}.`,
      value: { ...blockJson(block), agent_id: agent.id, attached: verb === 'attach' },
    })
  })

export const remove = (which: string, flags: AgentFlag & { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const block = await requireNamedBlock(which, flags.agent, context)
    const users = await searchAgents({ blockId: block.id }, { limit: MOST, order: 'asc' }, context)
    const what = `${safeName(block.label)} (${block.id})`
    const names = users.map(({ name }) => safeName(name)).join(', ')
    const consequence =
      users.length === 0 ? 'No agent uses it.' : `${names} lose${users.length === 1 ? 's' : ''} it from memory.`
    if (!(await confirmRemoval({ verb: 'Delete', what, consequence }, flags, cli))) return 1
    await api.request('DELETE', `/v1/blocks/${block.id}`)
    printResult(cli, flags, {
      sentence: `Deleted ${what}.`,
      value: { id: block.id, label: block.label, deleted: true },
    })
    return 0
  })

const printBlock = async (done: string, id: Block['id'], { session, flags, cli }: PrintOptions): Promise<void> => {
  const block = await requireBlock(id, session.context)
  printResult(cli, flags, {
    sentence: `${done} ${safeName(block.label)} (${id}): ${block.value.length} of ${block.limit} characters.`,
    value: blockJson(block),
  })
}

function blockFields({ description, limit, readOnly, writable }: BlockFields) {
  if (readOnly && writable) throw new Problem('invalid', 'Use only one of --read-only and --writable.')
  const size = limit === undefined ? undefined : Number(limit)
  if (Number.isNaN(size)) throw new Problem('invalid', `--limit must be a number of characters, not "${limit}".`)
  return defined({ description, limit: size, read_only: readOnly ? true : writable ? false : undefined })
}

/** By its label on an agent, by its id or the beginning of it, or by a label that only one block has. */
async function findNamedBlock(
  which: string,
  agent: Agent | undefined,
  context: ServiceContext,
): Promise<Block | undefined> {
  const own = agent && (await blocksOf(agent, context)).find(({ label }) => label === which)
  if (own) return own
  const id = await completedId('block', which, context)
  return id && requireBlock(id, context)
}

export async function requireNamedBlock(
  which: string,
  named: string | undefined,
  context: ServiceContext,
): Promise<Block> {
  const agent = named === undefined ? undefined : await requireAgent(named, context)
  const found = await findNamedBlock(which, agent, context)
  if (found) return found
  if (agent) return requireBlockOf(agent, which, context)
  const labeled = await listBlocks({ label: which }, { limit: 10, order: 'asc' }, context)
  if (labeled.length === 1) return labeled[0]!
  if (labeled.length > 1)
    throw new Problem(
      'invalid-argument',
      `${labeled.length} blocks have the label "${which}": ${labeled.map(({ id }) => id).join(', ')}. Add --agent, or use an id.`,
    )
  throw new Problem('not-found', `There is no memory block "${which}". \`holdfast memory list\` lists them.`)
}

const blockJson = ({ id, label, value, limit, description, readOnly, tags }: Block) => ({
  id,
  label,
  value,
  limit,
  description: description ?? null,
  read_only: readOnly,
  tags,
})
