import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { serveKeyed } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

type Change = { kind: string; id: string; verb: string; agent_id?: string; conversation_id?: string }
type Item = { event: string; data: { position: string; changes?: Change[] } }

/** Reads the feed; `next` resolves with the next item that passes. */
async function openFeed(
  context: TestContext,
  { url, key = KEY, after }: { url: string; key?: string; after?: string },
) {
  const stop = new AbortController()
  context.after(() => stop.abort())
  const query = after === undefined ? '' : `?after=${after}`
  const response = await fetch(`${url}/v1/changes${query}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: stop.signal,
  })
  assert.equal(response.status, 200)
  const reader = response
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader()
  return {
    stop: () => stop.abort(),
    async next(passes: (item: Item) => boolean): Promise<Item> {
      for (;;) {
        const { value, done } = await reader.read()
        assert.ok(!done, 'the feed ended')
        const item = { event: value.event ?? '', data: JSON.parse(value.data) }
        if (passes(item)) return item
      }
    },
  }
}

const tells = (kind: string, verb: string) => (item: Item) =>
  item.data.changes?.some((change) => change.kind === kind && change.verb === verb) ?? false

test('a reader is told of changes as they commit, and continues where it was after it was away', async (context) => {
  const { url, as } = await serveKeyed(context)
  const feed = await openFeed(context, { url })
  const { position } = (await feed.next(({ event }) => event === 'current')).data
  const { id } = (await as()('POST', '/v1/agents', { name: 'a', model: 'test/model' })).body as { id: string }
  const created = await feed.next(tells('agent', 'created'))
  assert.equal(created.data.changes![0]!.id, id)
  feed.stop()
  await as()('PATCH', `/v1/agents/${id}`, { name: 'b' })
  const again = await openFeed(context, { url, after: created.data.position })
  assert.equal((await again.next(tells('agent', 'changed'))).event, 'changes')
  const fromStart = await openFeed(context, { url, after: position })
  assert.ok((await fromStart.next(tells('agent', 'created'))).data.changes!.some((change) => change.id === id))
})

test('another organization, and a key without the scope, are told nothing', async (context) => {
  const { url, as, makeKey, makeOrganization } = await serveKeyed(context)
  const elsewhere = await makeKey({ scope: 'admin', organization_id: await makeOrganization('Elsewhere') })
  const reader = await makeKey({ scope: 'read' })
  const foreign = await openFeed(context, { url, key: elsewhere.key })
  const own = await openFeed(context, { url, key: reader.key })
  for (const feed of [foreign, own]) await feed.next(({ event }) => event === 'current')
  await makeKey({ scope: 'read' })
  await as()('POST', '/v1/agents', { name: 'a', model: 'test/model' })
  const { changes } = (await own.next(({ data }) => (data.changes ?? []).length > 0)).data
  assert.deepEqual(
    changes!.filter(({ kind }) => kind === 'key'),
    [],
  )
  await as(elsewhere.key)('POST', '/v1/agents', { name: 'mine', model: 'test/model' })
  const first = await foreign.next(({ data }) => (data.changes ?? []).length > 0)
  assert.equal(first.data.changes!.length >= 1, true)
  const { body } = await as(elsewhere.key)('GET', '/v1/agents')
  const [mine] = body as { id: string }[]
  assert.ok(first.data.changes!.every((change) => change.id === mine!.id || change.agent_id === mine!.id))
})

test('a reader whose position is unknown to this database is told to reload; a wrong one is refused', async (context) => {
  const { url, as } = await serveKeyed(context)
  const feed = await openFeed(context, { url, after: '9000000000000.9000000000000' })
  assert.equal((await feed.next(() => true)).event, 'reload')
  const { status, body } = await as()('GET', '/v1/changes?after=yesterday')
  assert.equal(status, 422)
  assert.match(JSON.stringify(body), /not a position of the feed/)
})
