import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { startServer } from '../../src/http/server.ts'
import { StorageError } from '../../src/ports/storage-error.ts'
import type { Store } from '../../src/ports/store.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { newHome } from '../cli/holdfast.ts'
import { KEY } from './fixture-server-process.ts'

/** A store that can simulate a full disk. */
function withDisk(store: Store, disk: { isFull: boolean }): Store {
  const guarded =
    <A extends unknown[], T>(write: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      if (disk.isFull) throw new StorageError('full', 'the disk at /secret/place is full')
      return write(...given)
    }
  return {
    ...store,
    runs: { ...store.runs, open: guarded(store.runs.open) },
    workers: { ...store.workers, beat: guarded(store.workers.beat) },
  }
}

test('while the disk is full readiness fails and sends are refused, and the server recovers by itself', async (t) => {
  const disk = { isFull: false }
  const environment = { HOLDFAST_HOME: newHome(t) }
  const report = () => {}
  const app = await openApp({ environment, role: 'owner', wrapStore: (store) => withDisk(store, disk), report })
  const agent = await createAgent({ name: 'ada', model: 'scripted/friendly', tools: [] }, app.context)
  const options = { context: app.context, host: '127.0.0.1', port: 0, apiKey: KEY, version: '1', report }
  const server = await startServer(options)
  t.after(async () => {
    await server.close()
    await app.close()
  })
  const ready = async () => (await fetch(`${server.url}/v1/ready/`)).status
  const until = async (status: number) => {
    while ((await ready()) !== status) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const send = (body: object) =>
    fetch(`${server.url}/v1/agents/${agent.id}/messages`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    })
  await until(200)
  disk.isFull = true
  await until(503)
  for (const body of [{ input: 'hi' }, { input: 'hi', streaming: true }]) {
    const refused = await send(body)
    assert.equal(refused.status, 503)
    assert.equal(refused.headers.get('retry-after'), '1')
    assert.doesNotMatch(await refused.text(), /secret/)
  }
  disk.isFull = false
  await until(200)
  assert.equal((await send({ input: 'hi' })).status, 200)
})
