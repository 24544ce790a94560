import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { StorageError, type StorageFault } from '../../src/ports/storage-error.ts'
import { MIGRATIONS } from '../../src/storage/migrations/all.ts'
import type { Migration } from '../../src/storage/migrations/migration.ts'
import { openSqliteStore, type SqliteOptions, shareSqliteStore } from '../../src/storage/sqlite.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'
import {
  asGuest,
  asHolder,
  cancelled,
  collect,
  createAgent,
  createRunningRun,
  entry,
  fault,
  newId,
  ORGANIZATION,
  openRun,
  says,
} from './fixture-storage.ts'

test('a full disk fails the write with nothing half-written, and writes continue when there is space', async (context) => {
  const database = new DatabaseSync(join(newHome(context), 'holdfast.db'))
  const { store, snapshot } = await shareSqliteStore({ database, clock, ownership: 'peer' })
  context.after(() => database.close())
  const home = await createAgent(store)
  const run = await createRunningRun(store, home)
  const before = JSON.stringify([await collect(snapshot.runs()), await collect(snapshot.conversations())])

  const { page_count: pages } = database.prepare('pragma page_count').get() as { page_count: number }
  database.exec(`pragma max_page_count = ${pages}`)
  const big = 'x'.repeat(100_000)
  const append = asHolder(run, { facts: [entry(fault(big), says(run.id, big))] })
  await assert.rejects(store.events.append(append), isFault('full', /full/i))
  assert.equal(JSON.stringify([await collect(snapshot.runs()), await collect(snapshot.conversations())]), before)

  database.exec('pragma max_page_count = 1000000')
  assert.equal((await store.events.append(append)).type, 'appended')
  assert.equal((await store.messages.context(home.conversationId)).length, 1)
})

test('on a full disk a write that fits succeeds beside one that does not', async (context) => {
  const database = new DatabaseSync(join(newHome(context), 'holdfast.db'))
  const { store } = await shareSqliteStore({ database, clock, ownership: 'peer' })
  context.after(() => database.close())
  const runs = [
    await createRunningRun(store, await createAgent(store)),
    await createRunningRun(store, await createAgent(store)),
  ]
  const { page_count: pages } = database.prepare('pragma page_count').get() as { page_count: number }
  database.exec(`pragma max_page_count = ${pages}`)
  const [big, small] = await Promise.allSettled([
    store.events.append(asHolder(runs[0]!, { facts: [entry(fault('x'.repeat(100_000)))] })),
    store.events.append(asHolder(runs[1]!, { facts: [entry(fault('small'))] })),
  ])
  assert.equal(big.status, 'rejected')
  assert.equal(small.status, 'fulfilled')
})

test('a home without write permission is refused, and the message names it', async (context) => {
  const home = newHome(context)
  chmodSync(home, 0o555)
  // Permissions do not restrict root, so as root the child runs as an unprivileged user.
  const identity = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const owner = spawnOwner(context, home, identity)
  const [line] = await once(owner.stdout, 'data')
  chmodSync(home, 0o755)
  assert.match(String(line), new RegExp(`^read-only: .*${home}.*cannot be written`))
})

test('a database that became read-only is reported as such, and a later write succeeds', async (context) => {
  const file = join(newHome(context), 'holdfast.db')
  const database = new DatabaseSync(file)
  const { store } = await shareSqliteStore({ database, clock, ownership: 'peer' })
  context.after(() => database.close())
  const home = await createAgent(store)
  database.exec('pragma query_only = 1')
  await assert.rejects(store.runs.open(openRun(home)), isFault('read-only', new RegExp(file)))
  database.exec('pragma query_only = 0')
  assert.equal((await store.runs.open(openRun(home))).type, 'opened')
})

test('a file that is not a database is refused, named and left unchanged', async (context) => {
  const home = newHome(context)
  const file = join(home, 'holdfast.db')
  writeFileSync(file, 'this is not a database, however long one looks at it. '.repeat(100))
  const before = readFileSync(file)
  await assert.rejects(open({ home }), isFault('corrupt', new RegExp(`${file}.*restore`, 's')))
  assert.deepEqual(readFileSync(file), before)
  // The failed start holds no lock: the home opens once the file is repaired.
  rmSync(file)
  await (await open({ home })).close()
})

test('a damaged chunk log is set aside and the database still opens', async (context) => {
  const home = newHome(context)
  const first = await open({ home })
  const run = await createRunningRun(first.store, await createAgent(first.store))
  await first.close()
  writeFileSync(join(home, 'chunks.db'), 'damaged '.repeat(1000))
  const second = await open({ home })
  context.after(second.close)
  assert.equal((await second.store.runs.get(ORGANIZATION, run.id))?.id, run.id)
  assert.deepEqual(await second.chunks.open(run.id, 2), { last: 0, lastEvent: 0, ended: false, mayHaveLost: true })
  assert.ok(readdirSync(home).some((name) => name.startsWith('chunks.db.damaged-')))
})

test('a removed chunk log counts as a loss, and its numbers are not assigned again', async (context) => {
  const home = newHome(context)
  const first = await open({ home })
  const runId = newId.run()
  await first.chunks.open(runId, 1)
  await first.close()
  for (const name of readdirSync(home).filter((file) => file.startsWith('chunks.db'))) rmSync(join(home, name))
  const second = await open({ home })
  context.after(second.close)
  const head = await second.chunks.open(runId, 2)
  assert.ok(head !== 'fenced' && head.mayHaveLost)
})

test('a stream written before a reboot may have lost its end', async (context) => {
  const home = newHome(context)
  const first = await open({ home })
  const runId = newId.run()
  await first.chunks.open(runId, 1)
  const append = { runId, fence: 1, floor: 0, chunks: [{ event: 0, body: '1' }], ended: false, at: 0 }
  await first.chunks.append([append])
  await first.close()
  const direct = new DatabaseSync(join(home, 'chunks.db'))
  direct.exec(`update stream_heads set boot_id = 'another start of the machine'`)
  direct.close()

  const second = await open({ home })
  context.after(second.close)
  const lost = { last: 1, lastEvent: 0, ended: false, mayHaveLost: true }
  assert.deepEqual(await second.chunks.open(runId, 2), lost)
  const unknown = await second.chunks.open(newId.run(), 2)
  assert.ok(unknown !== 'fenced' && unknown.mayHaveLost, 'its head may have been lost whole')
  // A crash before the first new chunk must not hide the loss.
  assert.deepEqual(await second.chunks.open(runId, 3), lost)
  assert.deepEqual(await second.chunks.append([{ ...append, fence: 3, floor: 10_000 }]), [10_001])
  assert.equal((await second.chunks.head(runId))?.mayHaveLost, false)
})

const newest = MIGRATIONS.store.length
const second: Migration = {
  number: newest + 1,
  name: 'second',
  digest: 'second',
  up: () => ['alter table agents add column mood text'],
}
const broken: Migration = {
  number: newest + 2,
  name: 'broken',
  digest: 'broken',
  up: () => ['create table half (id text)', 'create nonsense'],
}

test('a database in use is backed up before a migration, and a new one is not', async (context) => {
  const home = newHome(context)
  const first = await open({ home })
  const { agentId } = await createAgent(first.store)
  await first.close()
  assert.deepEqual(copiesIn(home), [])

  const upgraded = await open({ home, migrations: [...MIGRATIONS.store, second] })
  assert.equal((await upgraded.store.agents.get(ORGANIZATION, agentId))?.id, agentId)
  await upgraded.close()
  const name = `holdfast.db.before-${String(second.number).padStart(3, '0')}`
  assert.deepEqual(copiesIn(home), [name])
  const copy = new DatabaseSync(join(home, name), { readOnly: true })
  context.after(() => copy.close())
  assert.equal(copy.prepare('select id from agents').get()?.id, agentId)
  const columns = copy.prepare(`select name from pragma_table_info('agents')`).all()
  assert.ok(!columns.some(({ name }) => name === 'mood'))
})

test('a database of a newer version is refused with a clear message and left unchanged', async (context) => {
  const home = newHome(context)
  await (await open({ home, migrations: [...MIGRATIONS.store, second] })).close()
  const words = new RegExp(`newer Holdfast.*version is ${newest + 1}, this Holdfast supports up to ${newest}`, 's')
  await assert.rejects(open({ home }), isFault('newer-version', words))
  await (await open({ home, migrations: [...MIGRATIONS.store, second] })).close()
})

test('a failed migration leaves no trace', async (context) => {
  const home = newHome(context)
  await (await open({ home })).close()
  await assert.rejects(open({ home, migrations: [...MIGRATIONS.store, second, broken] }))
  const database = new DatabaseSync(join(home, 'holdfast.db'))
  assert.equal(database.prepare(`select 1 from sqlite_master where name = 'half'`).get(), undefined)
  assert.equal(database.prepare('select max(number) as version from migrations').get()?.version, newest + 1)
  database.close()
})

test('a second owner is refused, and the message says what to do', async (context) => {
  const home = newHome(context)
  const first = await open({ home })
  context.after(first.close)
  await assert.rejects(open({ home }), isFault('owned', new RegExp(`${home}.*Stop that process first`, 's')))
  const guest = await open({ home, role: 'guest' })
  await guest.close()
})

test('after kill -9 of the owner, the next owner can open the home and take over its runs at once', async (context) => {
  const home = newHome(context)
  const owner = await startOwner(context, home)
  await assert.rejects(open({ home }), isFault('owned', /in use/))
  const gone = once(owner, 'exit')
  owner.kill('SIGKILL')
  await gone

  const next = await open({ home })
  context.after(next.close)
  const dead = newId.worker()
  await next.store.workers.beat(dead, 60_000)
  const run = await createRunningRun(next.store, await createAgent(next.store), dead)
  const heir = newId.worker()
  await next.store.workers.beat(heir, 60_000)
  const claim = await next.store.runs.takeOver(heir, { quarantine: 'free', quarantineFrom: 2, at: 0 })
  assert.equal(claim?.run.id, run.id)
})

test('the owner is notified of a guest’s cancel, and not of its own writes', async (context) => {
  const home = newHome(context)
  const virtual = newVirtualClock()
  const owner = await open({ home, clock: virtual })
  context.after(owner.close)
  const run = await createRunningRun(owner.store, await createAgent(owner.store))
  let wakeUps = 0
  context.after(owner.store.onForeignWrite(() => wakeUps++))
  await owner.store.events.append(asHolder(run, { facts: [entry(fault('own'))] }))
  await virtual.advance(100)
  assert.equal(wakeUps, 0)

  const guest = await open({ home, role: 'guest' })
  context.after(guest.close)
  await guest.store.events.append(asGuest(run, ['running'], { facts: [entry(cancelled)] }))
  await virtual.advance(25)
  assert.equal(wakeUps, 1)
})

test('a guest cannot open a home that was never used, and the message says so', async (context) => {
  const home = newHome(context)
  await assert.rejects(open({ home, role: 'guest' }), isFault('unreachable', /no server has run/))
  assert.equal(existsSync(join(home, 'holdfast.db')), false)
})

test('the WAL file does not grow without bound', async (context) => {
  const home = newHome(context)
  const { store, close } = await open({ home })
  context.after(close)
  const run = await createRunningRun(store, await createAgent(store))
  const big = 'x'.repeat(1_000_000)
  for (let count = 0; count < 120; count++)
    await store.events.append(asHolder(run, { seen: run.nextSeq + count, facts: [entry(fault(big))] }))
  const { size } = statSync(join(home, 'holdfast.db-wal'))
  assert.ok(size < 80_000_000, `${size} bytes`)
})

function newHome(context: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-faults-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

async function open(options: Pick<SqliteOptions, 'home'> & Partial<SqliteOptions>) {
  const opened = await openSqliteStore({ clock, durability: 'relaxed', role: 'owner', ...options })
  return {
    ...opened,
    async close() {
      await opened.chunks.close()
      await opened.store.close()
    },
  }
}

async function startOwner(context: TestContext, home: string) {
  const child = spawnOwner(context, home)
  const [line] = await once(child.stdout, 'data')
  assert.equal(String(line), 'owned\n')
  return child
}

function spawnOwner(context: TestContext, home: string, identity: { uid?: number; gid?: number } = {}) {
  const program = fileURLToPath(new URL('owner-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program, home], { stdio: ['ignore', 'pipe', 'inherit'], ...identity })
  context.after(() => child.kill('SIGKILL'))
  return child
}

const isFault = (expected: StorageFault, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StorageError, String(error))
  assert.equal(error.fault, expected)
  assert.match(error.message, text)
  return true
}

const copiesIn = (home: string) => readdirSync(home).filter((name) => name.includes('before'))
