import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { DescribedOperation, OpenApi } from '../../src/http/openapi.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { caseCount } from '../harness/case-count.ts'
import { queueModel, says } from '../harness/queue-model.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'
import { valuesOf } from './schema-values.ts'

type Route = { method: string; path: string; operation: DescribedOperation }

/** Routes that would delete the keys and users of the test, and the feed of changes, which never ends. */
const NOT_FUZZED = /^\/v1\/(keys|users|organizations|admin|changes)/
const RUNS = Number(process.env.FUZZ_RUNS ?? caseCount(2_800))

test('no valid or almost valid request causes an internal error or leaves the store inconsistent', {
  timeout: 110_000,
}, async (context) => {
  const {
    client,
    fetch: ask,
    fixture,
  } = await serveFixture(context, {
    providers: () => ({ test: queueModel([says('Hello.')]) }),
  })
  const agent = await client.agents.create({ model: 'test/model', memory_blocks: [{ label: 'human', value: 'x' }] })
  const conversation = await client.conversations.create({ agent_id: agent.id })
  const sent = await client.agents.messages.create(agent.id, { input: 'hi' })
  const { id: tool } = await client.tools.create({ source_code: 'def mine(a: int):\n    pass' })
  const known = [
    agent.id,
    agent.blocks[0]!.id!,
    conversation.id,
    tool,
    'default',
    'human',
    'mine',
    'test/model',
    sent.messages[0]!.id,
    sent.usage.run_ids![0]!,
    (sent.messages[0] as { step_id: string }).step_id,
  ]
  const document = (await ask('GET', '/openapi.json')).body as unknown as OpenApi
  const routes: Route[] = Object.entries(document.paths).flatMap(([path, operations]) =>
    NOT_FUZZED.test(path) ? [] : Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
  )
  assert.ok(routes.length > 60, `${routes.length} routes are described`)
  const url = new URL(client.baseURL)
  const tried = new Set<string>()

  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...routes).chain(requestFor(known)), async ({ route, path, query, body }) => {
      const method = route.method.toUpperCase()
      url.pathname = path
      url.search = query
      const init = method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }
      const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
      const response = await fetch(url, { method, headers, ...init, signal: AbortSignal.timeout(10_000) })
      const text = await response.text()
      const what = `${method} ${path}${query} ${JSON.stringify(body)}: ${response.status} ${text.slice(0, 500)}`
      tried.add(`${method} ${route.path} ${response.ok ? 'served' : 'refused'}`)
      // 501 to 504 are valid answers; a 500 is a bug.
      assert.ok(response.status < 500 || [501, 502, 503, 504].includes(response.status), what)
      if (response.status >= 400) {
        const answer = JSON.parse(text) as object
        assert.ok('detail' in answer || 'error' in answer, what)
      }
    }),
    { numRuns: RUNS },
  )
  assert.deepEqual(fixture.faults, [])
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
  const served = [...tried].filter((one) => one.endsWith('served')).length
  assert.ok(served > 20, `only ${served} routes were ever served`)
})

type FuzzRequest = { route: Route; path: string; query: string; body: unknown }

const requestFor =
  (known: readonly string[]) =>
  (route: Route): fc.Arbitrary<FuzzRequest> => {
    const { parameters, requestBody } = route.operation
    const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
    const inQuery = parameters.filter((one) => one.in === 'query')
    const schema = requestBody?.content['application/json']?.schema
    return fc
      .record({
        // Deletes get few known ids, because other requests need the rest.
        ids: fc.tuple(...inPath.map((name) => idFor(name, route.method === 'delete' ? known.slice(1, 2) : known))),
        fields: fc.record(Object.fromEntries(inQuery.map((one) => [one.name, valuesOf(one.schema, known)])), {
          requiredKeys: inQuery.filter(({ required }) => required).map(({ name }) => name),
        }),
        body: schema ? valuesOf(schema, known) : fc.constant(undefined),
      })
      .map(({ ids, fields, body }) => ({
        route,
        path: inPath.reduce(
          (path, name, index) => path.replace(`{${name}}`, encodeURIComponent(ids[index]!)),
          route.path,
        ),
        query: queryOf(fields),
        body,
      }))
  }

/** Mostly an id of the right kind, so that requests get past the id check. */
function idFor(name: string, known: readonly string[]): fc.Arbitrary<string> {
  const kind = name.replace(/_id$/, '').replace('conversation', 'conv')
  const right = known.filter((id) => id.startsWith(kind))
  const others = [...known, `${kind}-${randomUUID()}`, 'nothing']
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...(right.length > 0 ? right : others)) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )
}

function queryOf(fields: Record<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(fields))
    for (const item of Array.isArray(value) ? value : [value])
      query.append(key, typeof item === 'string' ? item : (JSON.stringify(item) ?? ''))
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
