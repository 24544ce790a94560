import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openApp } from '../../src/app.ts'
import type { Role } from '../../src/ports/role.ts'
import { StorageError } from '../../src/ports/storage-error.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import type { ServiceContext } from '../../src/service/service-context.ts'
import { checkStore, type StoreReport } from '../../src/service/store/check-store.ts'
import { repairStore } from '../../src/service/store/repair-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'
import { tool } from '../harness/tools.ts'

// Each test damages a real database in one way. Damage that the log explains is repaired; other damage is left alone.

const guarded = () => tool('guarded', () => success('ran'), { needsApproval: true })
const plain = scriptOf({ calls: [{ tool: 'look', input: {}, callId: 'c1' }] }, { text: 'well' })
const asking = scriptOf({ calls: [{ tool: 'guarded', input: {}, callId: 'c1' }] }, { text: 'done' })

/** A home with two finished turns of four messages each, its server stopped. */
async function openQuietFixture(context: TestContext) {
  const fixture = await openHomeFixture(context, { tools: [tool('look')], script: plain })
  const first = await fixture.ask('one')
  const second = await fixture.ask('two')
  await fixture.stop()
  return { fixture, first, second }
}

async function openWaitingFixture(context: TestContext, approvalTtlMs = 86_400_000) {
  const fixture = await openHomeFixture(context, { tools: [guarded()], script: asking, defaults: { approvalTtlMs } })
  const run = await fixture.ask('may I')
  await fixture.stop()
  return { fixture, run }
}

function tamper(fixture: HomeFixture, statement: string, file = 'holdfast.db'): void {
  const database = new DatabaseSync(join(fixture.home, file))
  try {
    database.exec(statement)
  } finally {
    database.close()
  }
}

async function inHome<T>(
  fixture: HomeFixture,
  role: Role,
  work: (serviceContext: ServiceContext) => Promise<T>,
): Promise<T> {
  const app = await openApp({ environment: { HOLDFAST_HOME: fixture.home }, role })
  try {
    return await work(app.context)
  } finally {
    await app.close()
  }
}

const examine = (fixture: HomeFixture): Promise<StoreReport> => inHome(fixture, 'guest', checkStore)
const repair = async (fixture: HomeFixture): Promise<string[]> =>
  (await inHome(fixture, 'maintenance', repairStore)).map(({ where, did }) => `${where}: ${did}`)

const invariantsOf = (report: StoreReport): string[] => [
  ...new Set(report.violations.map(({ invariant }) => invariant)),
]

/** Asserts that the damage violates these invariants (`core/invariants`) and that one repair fixes it. */
async function assertRepaired(fixture: HomeFixture, invariants: string[], did: RegExp): Promise<void> {
  assert.deepEqual(invariantsOf(await examine(fixture)).sort(), invariants)
  const repairs = await repair(fixture)
  assert.equal(repairs.length, 1, repairs.join('\n'))
  assert.match(repairs[0]!, did)
  const after = await examine(fixture)
  assert.deepEqual([after.violations, after.notices], [[], []])
  assert.deepEqual(await repair(fixture), [], 'a second repair has nothing to do')
}

/** Asserts that the damage is reported and that no row changes. */
async function assertLeftAlone(fixture: HomeFixture, invariants: string[]): Promise<void> {
  const before = contentsOf(fixture)
  assert.deepEqual(invariantsOf(await examine(fixture)).sort(), invariants)
  assert.deepEqual(await repair(fixture), [])
  assert.equal(contentsOf(fixture), before)
  assert.deepEqual(invariantsOf(await examine(fixture)).sort(), invariants)
}

function contentsOf(fixture: HomeFixture): string {
  const database = new DatabaseSync(join(fixture.home, 'holdfast.db'), { readOnly: true })
  const tables = ['runs', 'events', 'messages', 'conversations', 'steps']
  const rows = tables.flatMap((table) => database.prepare(`select * from ${table}`).all())
  database.close()
  // In any order: a restored row is stored at the end of the file.
  const lines = rows.map((row) => JSON.stringify(row))
  return lines.sort().join('\n')
}

test('a sound home has nothing to repair', async (context) => {
  const { fixture } = await openQuietFixture(context)
  const before = contentsOf(fixture)
  assert.deepEqual(await repair(fixture), [])
  assert.equal(contentsOf(fixture), before)
})

test('a stream without a terminal event gets one', async (context) => {
  const { fixture, second } = await openQuietFixture(context)
  const lastRow = `select max("first") from chunks where run_id = '${second.id}'`
  tamper(fixture, `delete from chunks where run_id = '${second.id}' and "first" = (${lastRow})`, 'chunks.db')
  tamper(
    fixture,
    `update stream_heads set ended = 0, ended_at = null, last_event = 0,
      "last" = coalesce((select max("last") from chunks where chunks.run_id = stream_heads.run_id), 0)
      where run_id = '${second.id}'`,
    'chunks.db',
  )
  const [notice] = (await examine(fixture)).notices
  assert.equal(notice?.where, second.id)
  assert.match(notice.detail, /the run has ended but its stream has not/)
  assert.match((await repair(fixture)).join(), /its stream had not; its stream was ended/)
  assert.deepEqual((await examine(fixture)).notices, [])
  await fixture.restart()
  const chunks = await fixture.chunks(second.id)
  const terminals = chunks.filter(({ message_type }) => message_type === 'stop_reason' || message_type === 'done')
  assert.equal(terminals.length, 2)
})

test('a completed run whose row says failed is repaired to completed', async (context) => {
  const { fixture, first } = await openQuietFixture(context)
  tamper(
    fixture,
    `update runs set status = 'failed', stop_reason = 'error', error = '{"errorType":"internal_error","message":"x"}',
      completed_at = 1, deaths = 2 where id = '${first.id}'`,
  )
  await assertRepaired(fixture, ['I12', 'I5'], /status was "failed" and is now "completed".*deaths was 2 and is now 0/)
})

test('a completed run whose row says running is repaired to completed and does not run a second time', async (context) => {
  const { fixture, second } = await openQuietFixture(context)
  tamper(
    fixture,
    `update runs set status = 'running', stop_reason = null, completed_at = null, lease_owner = 'worker-gone'
      where id = '${second.id}'`,
  )
  await assertRepaired(
    fixture,
    ['I12', 'I5'],
    /status was "running" and is now "completed".*the lease of .+ was removed/,
  )
  const asked = fixture.requests.length
  await fixture.restart()
  assert.equal((await fixture.wait(second.id)).status, 'completed')
  assert.equal(fixture.requests.length, asked)
})

test('a changed expiry time and a lost waiting state are restored from the log', async (context) => {
  const { fixture, run } = await openWaitingFixture(context)
  tamper(fixture, `update runs set expires_at = expires_at + 1`)
  await assertRepaired(fixture, ['I5'], /expires_at was \d+ and is now \d+/)
  tamper(fixture, `update runs set waiting = 0, expires_at = null`)
  await assertRepaired(fixture, ['I1', 'I5'], /waiting was false and is now true/)
  await fixture.restart()
  const verdicts = [{ callId: 'c1', verdict: 'approve' as const }]
  const next = await fixture.wait(await answerApproval({ runId: run.id, verdicts }, fixture.context))
  assert.equal(next.stopReason, 'end_turn')
})

test('the waiting state is not restored after later runs of the conversation', async (context) => {
  const fixture = await openHomeFixture(context, { tools: [guarded()], script: asking })
  const run = await fixture.ask('may I')
  await fixture.stop()
  tamper(fixture, `update runs set waiting = 0, expires_at = null where id = '${run.id}'`)
  await fixture.restart()
  const another = await fixture.ask('another')
  await cancelRun(another.id, fixture.context)
  await fixture.stop()
  const before = contentsOf(fixture)
  assert.deepEqual(await repair(fixture), [])
  assert.equal(contentsOf(fixture), before)
})

test('an event counter that is too low is raised', async (context) => {
  const { fixture, first } = await openQuietFixture(context)
  tamper(fixture, `update runs set next_seq = next_seq - 2 where id = '${first.id}'`)
  await assertRepaired(fixture, ['I6'], /next_seq was \d+ and is now \d+/)
})

test('a position counter that is too low is raised', async (context) => {
  const { fixture } = await openQuietFixture(context)
  tamper(fixture, `update conversations set next_position = 3`)
  await assertRepaired(fixture, ['I6'], /next_position was 3 and is now 8/)
})

for (const [what, position] of [
  ['the first message', 0],
  ['an answer with a call', 1],
  ['a result', 6],
  ['the last message', 7],
] as const)
  test(`${what} is restored at its position from the log`, async (context) => {
    const { fixture } = await openQuietFixture(context)
    const before = contentsOf(fixture)
    tamper(fixture, `delete from messages where position = ${position}`)
    assert.notDeepEqual((await examine(fixture)).violations, [])
    const repairs = await repair(fixture)
    assert.equal(repairs.length, 1, repairs.join('\n'))
    assert.match(repairs[0]!, new RegExp(`was missing; it was restored at position ${position}`))
    assert.deepEqual((await examine(fixture)).violations, [])
    assert.equal(contentsOf(fixture), before)
  })

test('two lost messages are reported and not restored', async (context) => {
  const { fixture } = await openQuietFixture(context)
  tamper(fixture, `delete from messages where position in (1, 2)`)
  await assertLeftAlone(fixture, ['I5', 'I6'])
})

test('a changed message is reported and left as it is: a client may have read it', async (context) => {
  const { fixture } = await openQuietFixture(context)
  tamper(fixture, `update messages set body = replace(body, 'well', 'ill') where position = 3`)
  await assertLeftAlone(fixture, ['I5'])
})

test('two lost messages are not restored to one free position', async (context) => {
  const { fixture } = await openQuietFixture(context)
  tamper(fixture, `delete from messages where position in (6, 7)`)
  tamper(fixture, `update conversations set next_position = 7`)
  await assertLeftAlone(fixture, ['I1', 'I5', 'I6'])
})

test('a log with a gap is reported, and its row is left alone', async (context) => {
  const { fixture, second } = await openQuietFixture(context)
  tamper(
    fixture,
    `delete from events where type = 'turn-ended' and run_number = (select number from runs where id = '${second.id}')`,
  )
  await assertLeftAlone(fixture, ['I5', 'I6'])
})

test('a log that contradicts itself is reported, and its row is left alone', async (context) => {
  const { fixture, second } = await openQuietFixture(context)
  tamper(fixture, `update events set body = replace(body, '"fence":1', '"fence":9') where type = 'tool-started'`)
  tamper(fixture, `update runs set deaths = 1 where id = '${second.id}'`)
  await assertLeftAlone(fixture, ['I11', 'I5'])
})

test('an expired approval is left alone if the messages of its run contradict the log', async (context) => {
  const { fixture } = await openWaitingFixture(context, 1)
  tamper(fixture, `update messages set body = replace(body, 'may I', 'must I')`)
  await assertLeftAlone(fixture, ['I5'])
})

test('an event that is not valid JSON is a violation of its run, and the rest is still checked', async (context) => {
  const { fixture, first } = await openQuietFixture(context)
  tamper(
    fixture,
    `update events set body = '{' where seq = 2 and run_number = (select number from runs where id = '${first.id}')`,
  )
  tamper(fixture, `update messages set body = '{' where position = 0`)
  await assertLeftAlone(fixture, ['I2', 'I5'])
})

test('an expired approval of a home without a server is ended, with a denial for its call', async (context) => {
  const { fixture, run } = await openWaitingFixture(context, 1)
  assert.match((await examine(fixture)).notices.map(({ detail }) => detail).join(), /its approval has expired/)
  assert.match((await repair(fixture)).join(), /its approval had expired; it was cancelled/)
  const after = await examine(fixture)
  assert.deepEqual([after.violations, after.notices], [[], []])
  await fixture.restart()
  assert.equal((await fixture.get(run.id)).status, 'cancelled')
  assert.deepEqual(
    (await fixture.messages()).map(({ body }) => body.role),
    ['user', 'assistant', 'approval', 'tool'],
  )
})

test('nothing is repaired while a server runs in the home', async (context) => {
  const fixture = await openHomeFixture(context, { script: plain, tools: [tool('look')] })
  await assert.rejects(repair(fixture), (fault) => fault instanceof StorageError && fault.fault === 'owned')
})
