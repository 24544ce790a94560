import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { PAGE_BYTES } from '../../src/ports/list-page.ts'
import { agentWithPassages } from './agent-with-passages.ts'
import { serveKeyed } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

const MEGABYTE = 1_048_576

test('a page of large items ends early, and the official client reads on until it has all of them, in every direction', async (context) => {
  const served = await serveKeyed(context)
  const { as, url } = served
  const agent = await agentWithPassages(served, { count: 7, size: 3 * MEGABYTE })
  const path = `/v1/agents/${agent}/archival-memory`
  const firstOf = (passages: { text: string }[]) => passages.map(({ text }) => text.slice(0, 1))
  const page = (query: string) =>
    as()('GET', `${path}?limit=100${query}`).then(({ body }) => body as { id: string; text: string }[])
  const first = await page('')
  assert.deepEqual(firstOf(first), ['0', '1', '2'])
  assert.deepEqual(firstOf(await page(`&after=${first[2]!.id}`)), ['3', '4', '5'])
  const last = (await page(`&after=${first[2]!.id}`)).at(-1)
  assert.deepEqual(firstOf(await page(`&before=${last!.id}`)), ['2', '3', '4'], 'the items next to the cursor')

  const bodies = [1, 2, 3, 4].map((label) => ({
    label: `l${label}`,
    value: 'v'.repeat(5 * MEGABYTE),
    limit: 9 * MEGABYTE,
  }))
  for (const body of bodies) assert.equal((await as()('POST', '/v1/blocks', body)).status, 200)
  const client = new Letta({ baseURL: url, apiKey: KEY })
  const labels: (string | null | undefined)[] = []
  for await (const block of client.blocks.list({ order: 'asc' })) labels.push(block.label)
  assert.deepEqual(
    labels.filter((label) => label?.startsWith('l')),
    ['l1', 'l2', 'l3', 'l4'],
  )
})

assert.ok(PAGE_BYTES > 6 * MEGABYTE && PAGE_BYTES < 9 * MEGABYTE, 'the sizes above are chosen for this')

test('an agent with more history than a page is exported as a stream, imported again and the same', async (context) => {
  const served = await serveKeyed(context)
  const { as, url } = served
  const agent = await agentWithPassages(served, { count: 5, size: 3 * MEGABYTE })
  const answer = await fetch(`${url}/v1/agents/${agent}/export`, { headers: { authorization: `Bearer ${KEY}` } })
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(answer.headers.get('content-length'), null)
  const text = await answer.text()
  const [file] = (JSON.parse(text) as { agents: { passages: object[]; messages: object[] }[] }).agents
  assert.deepEqual([file!.passages.length, file!.messages.length], [5, 1])
  const client = new Letta({ baseURL: url, apiKey: KEY })
  const { agent_ids } = await client.agents.importFile({ file: new File([text], 'agent.af'), model: 'test/model' })
  const again = await fetch(`${url}/v1/agents/${agent_ids[0]}/export`, { headers: { authorization: `Bearer ${KEY}` } })
  const [copy] = ((await again.json()) as { agents: { passages: object[] }[] }).agents
  assert.deepEqual(copy!.passages, file!.passages)
  assert.equal((await as()('GET', '/v1/agents')).status, 200)
})
