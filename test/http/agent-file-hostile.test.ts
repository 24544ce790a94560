import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { FILE_LIMIT } from '../../src/http/uploads.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { caseCount } from '../harness/case-count.ts'
import { seededFraction } from '../harness/seeded.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

type Value = null | boolean | number | string | Value[] | { [key: string]: Value }

const FOLDER = fileURLToPath(new URL('agent-files/', import.meta.url))

const SOURCE = 'def own(a: int) -> str:\n    """Own.\n\n    Args:\n        a (int): a\n    """\n    return "x"\n'
const SCHEMA = {
  name: 'own',
  description: 'Own.',
  parameters: { type: 'object', properties: { a: { type: 'integer' } } },
}
const RULES = [
  { type: 'exit_loop', tool_name: 'own' },
  { type: 'max_count_per_step', tool_name: 'own', max_count_limit: 2 },
]
const BLOCK = { id: 'block-0', label: 'human', value: 'likes tea', limit: 5, description: ' who \n', read_only: true }

const small = () => ({
  agents: [
    {
      id: 'agent-0',
      name: 'Ada',
      system: 'Be kind.',
      model: 'test/model',
      tool_ids: ['tool-0'],
      block_ids: ['block-0'],
      tool_rules: [...RULES] as Value[],
      messages: [
        { id: 'message-0', role: 'system', content: 'Be kind.' },
        { id: 'message-1', role: 'user', content: 'Hello' },
      ],
      in_context_message_ids: ['message-0', 'message-1'],
    },
  ],
  blocks: [BLOCK] as Value[],
  tools: [{ id: 'tool-0', name: 'own', tool_type: 'custom', source_code: SOURCE, json_schema: SCHEMA }] as Value[],
})

type Small = ReturnType<typeof small>

/** Files that were accepted, or left rows behind, before they were checked. */
const HOSTILE: Record<string, [(file: Small) => void, RegExp]> = {
  'a tool without a name': [
    (file) => (file.tools = [{ id: 'tool-0', source_code: SOURCE }]),
    /tool tool-0 has no name/,
  ],
  'a tool rule of an unknown kind': [
    ({ agents: [agent] }) => agent!.tool_rules.push({ type: 'never', tool_name: 'own' }),
    /tool_rules/,
  ],
  'a block that is not in the file': [
    ({ agents: [agent] }) => agent!.block_ids.push('block-9'),
    /block-9, which is not in the file/,
  ],
  'a tool that is not in the file': [
    ({ agents: [agent] }) => agent!.tool_ids.push('tool-9'),
    /tool-9, which is not in the file/,
  ],
  'a message of the context that is not in the file': [
    ({ agents: [agent] }) => agent!.in_context_message_ids.push('message-9'),
    /message-9 is not in the file/,
  ],
  'a block twice': [({ agents: [agent] }) => agent!.block_ids.push('block-0'), /the id block-0 occurs twice/],
  'two blocks with one id': [
    ({ blocks }) => blocks.push({ ...BLOCK, label: 'other' }),
    /blocks: the id block-0 occurs twice/,
  ],
  'two agents with one id': [
    ({ agents }) => agents.push({ ...agents[0]!, name: 'Eve' }),
    /agents: the id agent-0 occurs twice/,
  ],
  'two messages with one id': [
    ({ agents: [agent] }) => agent!.messages.push({ id: 'message-1', role: 'user', content: 'again' }),
    /the id message-1 occurs twice/,
  ],
  'two tools of one name': [
    (file) => {
      file.tools.push({ id: 'tool-1', name: 'own', tool_type: 'custom', source_code: SOURCE, json_schema: SCHEMA })
      file.agents[0]!.tool_ids.push('tool-1')
    },
    /two of its tools are named own/,
  ],
  'a second agent that is refused': [
    ({ agents }) => agents.push({ ...small().agents[0]!, id: 'agent-1', model: 'nobody/none' }),
    /nobody\/none not found/,
  ],
}

const TABLES = ['agents', 'agent_blocks', 'agent_tags', 'blocks', 'conversations', 'messages', 'passages', 'tools']

test('a hostile agent file is refused with the reason and leaves nothing behind, however it is damaged', {
  timeout: 200_000,
}, async (context) => {
  const { fixture, client } = await serveFixture(context)
  const database = new DatabaseSync(join(fixture.home, 'holdfast.db'), { readOnly: true })
  context.after(() => database.close())
  const rows = () =>
    TABLES.map((table) => `${table} ${database.prepare(`select count(*) as count from ${table}`).get()?.count}`)
  const url = client.baseURL
  const send = async (content: string) => {
    const form = new FormData()
    form.set('file', new Blob([content]), 'agent.af')
    form.set('model', 'test/model')
    const response = await fetch(`${url}/v1/agents/import`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${KEY}` },
    })
    return { status: response.status, text: await response.text() }
  }
  for (const [title, [damage, reason]] of Object.entries(HOSTILE)) {
    const before = rows()
    const file = small()
    damage(file)
    const form = new FormData()
    form.set('file', new Blob([JSON.stringify(file)]), 'agent.af')
    const response = await fetch(`${url}/v1/agents/import`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${KEY}` },
    })
    assert.ok(response.status === 400 || response.status === 404, `${title}: ${response.status}`)
    assert.match(await response.text(), reason, title)
    assert.deepEqual(rows(), before, title)
  }

  const originals = [
    JSON.stringify(small()),
    ...readdirSync(FOLDER)
      .filter((name) => name.endsWith('with-conversation.af'))
      .map((name) => readFileSync(join(FOLDER, name), 'utf8')),
  ]
  const fraction = seededFraction(20)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(fraction() * items.length)]!
  const answers = { accepted: 0, refused: 0 }
  for (let number = 0; number < caseCount(400); number++) {
    const before = rows()
    const content =
      fraction() < 0.15
        ? damagedText(pick(originals), fraction)
        : JSON.stringify(damaged(JSON.parse(pick(originals)) as Value, pick))
    const { status, text } = await send(content)
    assert.ok(status < 500, `${status} ${text} for ${content.slice(0, 2_000)}`)
    if (status === 200) answers.accepted++
    else {
      answers.refused++
      assert.deepEqual(rows(), before, `${status} ${text}`)
    }
  }
  assert.ok(answers.accepted > 5 && answers.refused > 20, JSON.stringify(answers))
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
  assert.deepEqual(fixture.faults, [])
})

const STRANGE: readonly Value[] = [
  null,
  -1,
  1e308,
  '',
  '\0',
  '\ud800',
  '__proto__',
  [],
  {},
  [[]],
  'x'.repeat(10_000),
  true,
  ['block-0', 'block-0'],
  { type: 'never' },
]

/** Replaces, removes, repeats or moves one value, anywhere. */
function damaged(root: Value, pick: <T>(items: readonly T[]) => T): Value {
  const places: [Record<string, Value>, string][] = []
  const visit = (value: Value, depth: number): void => {
    if (value === null || typeof value !== 'object' || depth > 6) return
    for (const [key, inner] of Object.entries(value)) {
      places.push([value as Record<string, Value>, key])
      visit(inner, depth + 1)
    }
  }
  visit(root, 0)
  const [holder, key] = pick(places)
  const [other, otherKey] = pick(places)
  switch (pick(['replace', 'remove', 'repeat', 'swap'] as const)) {
    case 'replace':
      holder[key] = pick(STRANGE)
      break
    case 'remove':
      if (Array.isArray(holder)) holder.splice(Number(key), 1)
      else delete holder[key]
      break
    case 'repeat':
      if (Array.isArray(holder)) holder.push(holder[Number(key)]!)
      else holder[`${key}_again`] = holder[key]!
      break
    case 'swap':
      holder[key] = JSON.parse(JSON.stringify(other[otherKey] ?? null))
  }
  return root
}

function damagedText(text: string, fraction: () => number): string {
  const at = Math.floor(fraction() * text.length)
  return fraction() < 0.5 ? text.slice(0, at) : `${text.slice(0, at)}\0${text.slice(at + 1)}`
}

test('limits, descriptions and tool rules come back exactly as they were, also a limit below the length of its value', async (context) => {
  const { client } = await serveFixture(context)
  const file = new File([JSON.stringify(small())], 'agent.af')
  const { agent_ids } = await client.agents.importFile({ file, model: 'test/model' })
  const include = { include: ['agent.blocks', 'agent.tools'] as never }
  const agent = (await client.agents.retrieve(agent_ids[0]!, include)) as never as {
    blocks: (typeof BLOCK)[]
    tool_rules: object[]
  }
  const [block] = agent.blocks
  assert.deepEqual([block?.limit, block?.description, block?.value], [BLOCK.limit, BLOCK.description, BLOCK.value])
  assert.deepEqual(agent.tool_rules, RULES)
  const again = (await client.agents.exportFile(agent_ids[0]!)) as never as Small
  assert.deepEqual(again.agents[0]?.tool_rules, RULES)
  assert.equal((again.blocks[0] as typeof BLOCK).limit, BLOCK.limit)
})

test('an upload that is too large is answered with 413, and the connection stays open until it is read', async (context) => {
  const { client } = await serveFixture(context)
  const form = new FormData()
  form.set('file', new Blob([Buffer.alloc(FILE_LIMIT + 2_000_000, 32)]), 'agent.af')
  const response = await fetch(`${client.baseURL}/v1/agents/import`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${KEY}` },
  })
  assert.equal(response.status, 413)
  assert.match(await response.text(), /larger than 67108864 bytes/)
})
