import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { caseCount } from '../harness/case-count.ts'
import { serveFixture } from './fixture-resource-server.ts'

const FIELDS = [
  'name',
  'model',
  'system',
  'agent_type',
  'memory_blocks',
  'block_ids',
  'tools',
  'tool_ids',
  'tags',
  'metadata',
  'tool_rules',
  'model_settings',
  'compaction_settings',
  'context_window_limit',
  'timezone',
  'description',
  'secrets',
  'label',
  'value',
  'limit',
  'read_only',
  'hidden',
  'source_code',
  'source_type',
  'json_schema',
  'args_json_schema',
  'return_char_limit',
  'text',
  'created_at',
  'requires_approval',
  'query',
  'llm_config',
  'include_base_tools',
  'after',
  'before',
  'order',
  'order_by',
  'include',
  'match_all_tags',
  'query_text',
  'search',
  'top_k',
  'start_datetime',
]

const odd = fc.oneof(
  fc.constantFrom<unknown>('', '\0', '%', 'a/b', 'test/model', '\ud800', -1, 1e308, null, [], {}, [[]], {
    a: { b: [null] },
  }),
  fc.constantFrom<unknown>(
    'def f(a: int):\n  pass',
    `block-${randomUUID()}`,
    'x'.repeat(5_000),
    true,
    0.5,
    '2026-01-01',
  ),
  fc.constantFrom<unknown>([{ label: 'a', value: 'b' }], [{ tool_name: 'x', type: 'requires_approval' }], {
    mode: 'all',
  }),
  fc.string(),
  fc.integer(),
  fc.jsonValue({ maxDepth: 3 }),
)

test('no body and no query makes a resource route answer with an internal error', {
  timeout: 90_000,
}, async (context) => {
  const { client, fetch, fixture } = await serveFixture(context)
  const agent = await client.agents.create({ model: 'test/model', memory_blocks: [{ label: 'human', value: 'x' }] })
  const block = agent.blocks[0]!.id
  const { id: tool } = await client.tools.create({ source_code: 'def mine(a: int):\n    pass' })
  const mine = `/v1/agents/${agent.id}`
  const routes: [string, string][] = [
    ...(['/v1/agents', '/v1/blocks', '/v1/tools', '/v1/tools/search', `${mine}/archival-memory`] as const).map(
      (path): [string, string] => ['POST', path],
    ),
    ['PUT', '/v1/tools'],
    ...[mine, `/v1/blocks/${block}`, `/v1/tools/${tool}`, `${mine}/core-memory/blocks/human`].map(
      (path): [string, string] => ['PATCH', path],
    ),
    ...[
      `${mine}/tools/approval/mine`,
      `${mine}/tools/attach/${tool}`,
      `${mine}/core-memory/blocks/attach/${block}`,
    ].map((path): [string, string] => ['PATCH', path]),
  ]
  const lists = ['/v1/agents', '/v1/blocks', '/v1/tools', '/v1/tags', '/v1/models', mine, `${mine}/tools`]
  const more = [
    `${mine}/archival-memory`,
    `${mine}/archival-memory/search`,
    `${mine}/core-memory/blocks`,
    `${mine}/context`,
  ]
  const wish = fc.record({
    route: fc.constantFrom(...routes, ...[...lists, ...more].map((path): [string, string] => ['GET', path])),
    fields: fc.dictionary(fc.constantFrom(...FIELDS), odd, { maxKeys: 5 }),
  })
  await fc.assert(
    fc.asyncProperty(wish, async ({ route: [method, path], fields }) => {
      const { status, body } =
        method === 'GET' ? await fetch(method, `${path}?${queryOf(fields)}`) : await fetch(method, path, fields)
      assert.ok(status < 500, `${method} ${path} ${JSON.stringify(fields)}: ${status} ${JSON.stringify(body)}`)
      if (status >= 400) assert.equal(typeof (body as { detail: unknown }).detail, 'string')
    }),
    { numRuns: caseCount(2_400) },
  )
  assert.deepEqual(fixture.faults, [])
})

function queryOf(fields: Record<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(fields))
    for (const item of Array.isArray(value) ? value : [value])
      query.append(key, typeof item === 'string' ? item : JSON.stringify(item))
  return query.toString()
}
