import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from '../../src/http/server.ts'
import { agentId } from '../harness/old-server/old-world.ts'
import { KEY } from '../http/fixture-server-process.ts'
import { oldServerFor, openImportHome } from './fixture-import.ts'

test('POST /v1/import starts an import of url with key, agents and rate; its progress and its kept objects are shown', async (context) => {
  const old = await oldServerFor(context, { password: 'tea' })
  const home = await openImportHome(context)
  const server = await startServer({
    context: home.app.context,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    report: () => undefined,
  })
  context.after(() => server.close())
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const response = await fetch(`${server.url}${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
    return { status: response.status, body: (await response.json()) as never as Answer }
  }
  const ended = async (id: string) => {
    for (;;) {
      const { body } = await ask('GET', `/v1/import/${id}`)
      if (body.state !== 'running') return body
      await sleep(20)
    }
  }
  assert.equal((await ask('POST', '/v1/import', {})).status, 422)
  assert.equal((await ask('POST', '/v1/import', { url: 'ftp://old' })).status, 422)
  const trial = await ask('POST', '/v1/import', { url: `${old.url}/`, key: 'tea', dry_run: true })
  assert.equal((await ended(trial.body.id)).dry_run, true)
  const some = await ask('POST', '/v1/import', { url: old.url, key: 'tea', agents: ['agent-1'], rate: 1_000 })
  assert.equal(some.body.id, trial.body.id)
  const first = await ended(some.body.id)
  assert.deepEqual([first.complete, first.failure], [true, null])
  assert.deepEqual(
    (await ask('GET', '/v1/agents')).body.map(({ id }) => id),
    [agentId(1)],
  )
  const all = await ended((await ask('POST', '/v1/import', { url: old.url, key: 'tea' })).body.id)
  assert.deepEqual([all.complete, all.passes], [true, 3])
  const { body: kept } = await ask('GET', `/v1/import/${all.id}/kept?kind=file`)
  assert.deepEqual(kept[0]?.body, { id: 'file-1', file_name: 'tea.txt', content: 'Tea is good.' })
  assert.equal((await ask('GET', '/v1/import')).body.length, 1)
  assert.equal((await ask('POST', `/v1/import/${all.id}/stop`)).body.state, 'done')
})

type Answer = {
  id: string
  state: string
  complete: boolean
  failure: string | null
  passes: number
  dry_run: boolean
} & { id: string; body: unknown }[]
