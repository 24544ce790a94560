import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { StorageError, type StorageFault } from '../../src/ports/storage-error.ts'
import { faultOf } from '../../src/storage/database/faults.ts'
import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import type { Migration } from '../../src/storage/migrations/migration.ts'
import { openPostgresStore } from '../../src/storage/postgres.ts'
import { startPostgres, startPostgresServer, type TestPostgres } from '../harness/postgres.ts'
import { cuttingProxy } from './cutting-proxy.ts'
import {
  asHolder,
  claimNext,
  createAgent,
  createRunningRun,
  ended,
  entry,
  fault,
  newId,
  ORGANIZATION,
  openRun,
  requireOpened,
  says,
  typesOf,
} from './fixture-storage.ts'

const probe = await startPostgres()
const skip = 'skip' in probe ? probe.skip : false
if (!('skip' in probe)) await probe.stop()

for (const when of ['before', 'after'] as const) {
  test(`an append whose connection is cut ${when} its commit is written exactly once`, { skip }, async (context) => {
    const { store, proxy } = await openProxied(context)
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    proxy.cutAtNextCommit(when)
    const append = asHolder(run, { facts: [entry(fault('fact'), says(run.id, 'once'))], intents: [entry(ended)] })
    const appended = await store.events.append(append)
    assert.ok(appended.type === 'appended')
    assert.equal(appended.intentsKept, true)
    assert.deepEqual(typesOf(appended.news), ['fault-met', 'turn-ended'])
    assert.deepEqual(await store.events.read(run.id, 1), appended.news)
    assert.equal((await store.messages.context(agent.conversationId)).length, 1)
  })

  test(`a run whose connection is cut ${when} its commit is opened exactly once`, { skip }, async (context) => {
    const { store, proxy } = await openProxied(context)
    const agent = await createAgent(store)
    proxy.cutAtNextCommit(when)
    const workerId = newId.worker()
    const run = requireOpened(await store.runs.open(openRun(agent, { claimFor: workerId })))
    assert.equal(run.leaseOwner, workerId)
    assert.equal((await store.runs.list(ORGANIZATION, {}, { limit: 10 })).length, 1)
  })

  test(`a claim whose connection is cut ${when} its commit is found`, { skip }, async (context) => {
    const { store, proxy } = await openProxied(context)
    const run = requireOpened(await store.runs.open(openRun(await createAgent(store))))
    proxy.cutAtNextCommit(when)
    let claim = await claimNext(store)
    // The server may hold the row lock for a moment after the cut: retry, as a worker does.
    for (const giveUp = Date.now() + 10_000; when === 'before' && !claim && Date.now() < giveUp; )
      claim = await claimNext(store)
    assert.equal(claim?.run.id, run.id)
    assert.equal(claim?.run.fence, 1)
  })

  test(`chunks whose connection is cut ${when} their commit are numbered once`, { skip }, async (context) => {
    const { chunks, proxy } = await openProxied(context)
    const runId = newId.run()
    await chunks.open(runId, 1)
    proxy.cutAtNextCommit(when)
    const append = { runId, fence: 1, floor: 0, chunks: [{ event: 0, body: '1' }], ended: false, at: 0 }
    assert.deepEqual(await chunks.append([append]), [1])
    assert.equal((await chunks.read(runId, 0, 10)).length, 1)
  })
}

test('steering whose connection is cut is found, and never repeated', { skip }, async (context) => {
  const { store, proxy } = await openProxied(context)
  const agent = await createAgent(store)
  const run = await createRunningRun(store, agent)
  proxy.cutAtNextCommit('after')
  const request = openRun(agent, { policy: 'steer' })
  assert.deepEqual(await store.runs.open(request), { type: 'steered', runId: run.id, request: request.run.id })
  assert.deepEqual(typesOf(await store.events.read(run.id, 1)), ['input-steered'])
})

test('while the server is down every call fails as unreachable, and all continue when it is back', {
  skip,
}, async (context) => {
  const server = await startPostgresServer()
  if ('skip' in server) return context.skip(server.skip)
  const { store, chunks } = await openStore(context, server)
  const agent = await createAgent(store)
  const run = await createRunningRun(store, agent)
  await chunks.open(run.id, 1)
  await server.crash()
  try {
    const append = asHolder(run, { facts: [entry(fault('away'))] })
    await assert.rejects(store.events.append(append), isFault('unreachable'))
    await assert.rejects(store.runs.get(ORGANIZATION, run.id), isFault('unreachable'))
  } finally {
    await server.restart()
  }
  const appended = await store.events.append(asHolder(run, { facts: [entry(fault('back'))] }))
  assert.equal(appended.type, 'appended')
  assert.equal((await store.events.read(run.id, 0)).length, 2)
  // The crash emptied the unlogged tables; the next holder learns of it.
  const head = await chunks.open(run.id, 2)
  assert.ok(head !== 'fenced' && head.mayHaveLost)
})

test('an unreachable server is named without its password', async () => {
  const url = 'postgres://someone:secret@127.0.0.1:1/nowhere'
  await assert.rejects(openPostgresStore({ url, clock, durability: 'strict' }), (error) => {
    assert.ok(isFault('unreachable')(error))
    assert.match((error as Error).message, /127\.0\.0\.1:1\/nowhere/)
    assert.doesNotMatch((error as Error).message, /secret/)
    return true
  })
})

test('processes that start together migrate once, and a newer database is refused', { skip }, async (context) => {
  const server = await startPostgres()
  assert.ok(!('skip' in server))
  context.after(server.stop)
  const number = MIGRATIONS.store.length + 1
  const next: Migration = {
    number,
    name: 'next',
    digest: 'next',
    up: () => ['alter table agents add column mood text'],
  }
  const migrations = [...MIGRATIONS.store, next]
  const start = () => openPostgresStore({ url: server.url, clock, durability: 'strict', migrations })
  for (const { store, chunks } of await Promise.all([start(), start(), start()])) {
    await chunks.close()
    await store.close()
  }
  const older = openPostgresStore({ url: server.url, clock, durability: 'strict' })
  await assert.rejects(older, isFault('newer-version'))
})

async function openStore(context: TestContext, running?: TestPostgres) {
  const server = running ?? (await startPostgres())
  assert.ok(!('skip' in server))
  const opened = await openPostgresStore({ url: server.url, clock, durability: 'strict' })
  context.after(async () => {
    await opened.chunks.close()
    await opened.store.close()
    await server.stop()
  })
  return opened
}

async function openProxied(context: TestContext) {
  const server = await startPostgres()
  assert.ok(!('skip' in server))
  const proxy = await cuttingProxy(server.url)
  const opened = await openPostgresStore({ url: proxy.url, clock, durability: 'strict' })
  context.after(async () => {
    await opened.chunks.close()
    await opened.store.close()
    await proxy.close()
    await server.stop()
  })
  return { ...opened, proxy }
}

const isFault = (expected: StorageFault) => (error: unknown) => {
  assert.ok(error instanceof StorageError, String(error))
  assert.equal(error.fault, expected)
  return true
}

test('a server that accepts the connection and stays silent counts as unreachable, not as a bug', async (context) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  context.after(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const client = new pg.Client({ host: '127.0.0.1', port, connectionTimeoutMillis: 20 })
  const fault = await client.connect().then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.equal(faultOf(fault), 'unreachable')
})
