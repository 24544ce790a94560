import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { writeLines } from '../../src/cli/write-lines.ts'
import { startServer } from '../../src/http/server.ts'
import { exportLines } from '../../src/service/exports/export-organization.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { agentId, conversationId } from '../harness/old-server/old-world.ts'
import { KEY } from '../http/fixture-server-process.ts'
import type { WireValue } from '../http/send-modes.ts'
import { type ImportHome, oldServerFor, openImportHome } from './fixture-import.ts'

type Fields = WireValue

/** An application as it was written for the old server: it knows ids, and nothing of where they are served. */
async function application(client: Letta) {
  const include = ['agent.blocks', 'agent.tools', 'agent.tags', 'agent.secrets'] as never
  const agents = []
  for (const index of [0, 1]) {
    const agent = (await client.agents.retrieve(agentId(index), { include })) as WireValue
    const { id, name, system, description, metadata, tags, timezone, tool_rules, model } = agent
    const blocks = (agent.blocks as Fields[]).map(({ id, label, value, limit, description, read_only }) => ({
      id,
      label,
      value,
      limit,
      description,
      read_only,
    }))
    const tools = (agent.tools as Fields[]).map(({ name }) => name).sort()
    const secrets = (agent.secrets as Fields[]).map(({ key, value }) => [key, value])
    agents.push({ id, name, system, description, metadata, tags, timezone, tool_rules, model, blocks, tools, secrets })
  }
  const shared = (await client.blocks.retrieve((agents[0]!.blocks[0] as Fields).id)) as WireValue
  const conversations = (
    (await client.conversations.list({ agent_id: agentId(1), order: 'asc' } as never)) as WireValue[]
  )
    .filter(({ id }) => id !== 'default')
    .map(({ id, summary, agent_id }) => ({ id, summary, agent_id }))
  const histories = []
  const pages = [
    () => client.conversations.messages.list(conversationId(1, 1), { order: 'asc', limit: 30 } as never),
    () => client.agents.messages.list(agentId(1), { order: 'asc', limit: 30 } as never),
  ]
  for (const page of pages) {
    const read: Fields[] = []
    for await (const message of await page()) read.push(message as never)
    histories.push(read.filter(({ message_type }) => message_type !== 'system_message').map(shownMessage))
  }
  const tool = (await client.tools.list({ name: 'look_up' } as never)) as never as { items?: Fields[] }
  const custom = (tool.items ?? [])
    .filter(({ name }) => name === 'look_up')
    .map(({ id, source_code, return_char_limit, tags }) => ({ id, source_code, return_char_limit, tags }))
  const passages = ((await client.agents.passages.list(agentId(0), { ascending: true } as never)) as WireValue[]).map(
    ({ id, text, tags }) => ({ id, text, tags }),
  )
  const found = (await client.agents.passages.search(agentId(0), { query: 'whales3' })) as never as {
    results: Fields[]
  }
  const said = (await client.messages.search({ query: '14', agent_id: agentId(1) })) as WireValue[]
  return {
    said: said.map(foundMessage).sort((one, other) => (one.message_id < other.message_id ? -1 : 1)),
    agents,
    shared: shared.value,
    conversations,
    histories,
    custom,
    passages,
    found: found.results.map(({ id, content }: Fields) => ({ id, content })),
  }
}

/** What an application shows of a message. */
function shownMessage(message: Fields) {
  const {
    id,
    message_type,
    date,
    content,
    reasoning,
    tool_call,
    tool_return,
    tool_call_id,
    status,
    approve,
    summary,
    otid,
  } = message
  // A summary was a message of the user to clients of the old server that did not ask for summaries.
  if (message_type === 'summary_message' || String(content).includes('system_alert'))
    return { id, date, text: summary ?? JSON.parse(content).message }
  return { id, message_type, date, content, reasoning, tool_call, tool_return, tool_call_id, status, approve, otid }
}

/** What an application shows of a message that a search found. Without an embedding model there are no ranks to compare. */
const foundMessage = ({ message_id, message_type, content, created_at, agent_id }: Fields) => ({
  message_id,
  message_type,
  content,
  created_at,
  agent_id,
})

test('an application written for the old server reads the same from the imported home, with only its address changed', async (context) => {
  const old = await oldServerFor(context)
  const home = await openImportHome(context)
  assert.ok((await home.importFrom(old.url)).complete)
  const server = await startServer({
    context: home.app.context,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    report: () => undefined,
  })
  context.after(() => server.close())
  const before = await application(new Letta({ baseURL: old.url, apiKey: KEY, maxRetries: 0 }))
  const after = await application(new Letta({ baseURL: server.url, apiKey: KEY, maxRetries: 0 }))
  assert.equal(before.said.length, 2)
  assert.ok(before.histories.every(({ length }) => length > 40))
  assert.deepEqual(JSON.parse(JSON.stringify(after)), JSON.parse(JSON.stringify(before)))
})

const COMPARED: Record<string, string> = {
  agents:
    'select id, name, system, model, fallback, tools, description, settings, created_at, updated_at from agents order by id',
  agent_blocks: 'select agent_id, block_id, label from agent_blocks order by agent_id, position',
  agent_tags: 'select * from agent_tags order by agent_id, tag',
  blocks:
    'select id, label, value, char_limit, description, read_only, tags, metadata, hidden, template_name, is_template, version, created_at, updated_at from blocks order by id',
  tools: 'select id, name, tool_type, body, created_at, updated_at from tools order by id',
  mcp_servers: 'select id, name, place, contact, revision, created_at, updated_at from mcp_servers order by id',
  conversations:
    'select id, agent_id, is_default, summary, hidden, own_blocks, details, context_start, list_start, next_position, created_at, updated_at, archived_at from conversations order by id',
  messages:
    'select id, agent_id, conversation_id, run_id, step_id, position, role, body, created_at, copy_of from messages order by conversation_id, position',
  passages: 'select id, agent_id, content, tags, created_at from passages order by id',
  vectors:
    'select passages.id, model, vector from passage_vectors join passages on number = passage_number order by passages.id',
}

test('an export that is imported again gives the same rows, secrets included when they were asked for', async (context) => {
  const old = await oldServerFor(context)
  const home = await openImportHome(context)
  await home.importFrom(old.url)
  const fork = {
    agentId: agentId(0) as never,
    isDefault: false,
    createdAt: 5,
    contextStart: 2,
    id: 'conv-00000000-0000-4000-8000-00000000f0f0' as never,
    nextPosition: 7,
    organizationId: home.app.context.organizationId,
  }
  const { store } = home.app.context.deps
  const usual = await store.conversations.defaultOf(fork.organizationId, fork.agentId)
  assert.equal(await store.conversations.fork(usual!.id, fork), 'forked')
  const file = join(home.home, 'everything.jsonl')
  const counts = await writeLines(file, exportLines({ withSecrets: true, version: 'test' }, home.app.context))
  assert.equal(counts.agent, 3)
  const other = await openImportHome(context)
  const report = await other.importFrom({ type: 'file', path: file })
  assert.equal(report.record.failure, undefined)
  assert.ok(report.complete, JSON.stringify(report.tallies))
  for (const [name, sql] of Object.entries(COMPARED)) assert.deepEqual(rowsOf(other, sql), rowsOf(home, sql), name)
  assert.ok(rowsOf(home, COMPARED.vectors!).length > 0)
  assert.deepEqual((await checkStore(other.app.context)).violations, [])
  const again = await other.importFrom({ type: 'file', path: file })
  assert.deepEqual(again.tallies, report.tallies)
})

test('secrets that an export left out are named where they are missing after the import', async (context) => {
  const old = await oldServerFor(context)
  const home = await openImportHome(context)
  await home.importFrom(old.url)
  const file = join(home.home, 'shared.jsonl')
  await writeLines(file, exportLines({ withSecrets: false, version: 'test' }, home.app.context))
  const other = await openImportHome(context)
  const report = await other.importFrom({ type: 'file', path: file })
  assert.ok(report.complete, JSON.stringify(report.tallies))
  const agent = await other.app.context.deps.store.agents.get(other.app.context.organizationId, agentId(0) as never)
  assert.deepEqual(agent?.settings?.notImported?.slice(-1), ['secret TEA_KEY: the export left out its value'])
  assert.equal(agent?.sealedSecrets, undefined)
  const server = report.remarks.find(({ kind }) => kind === 'mcp-server')
  assert.equal(server?.outcome, 'imported')
  assert.match(server!.reason!, /The value of its secret token is not in the file: set it again/)
})

const rowsOf = ({ home }: ImportHome, sql: string) => {
  const database = new DatabaseSync(join(home, 'holdfast.db'), { readOnly: true })
  const rows = database.prepare(sql).all()
  database.close()
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])))
}

/** The order of fields in stored JSON means nothing. */
const plain = (value: unknown): unknown =>
  typeof value === 'string' && /^[[{]/.test(value) ? JSON.parse(value) : value
