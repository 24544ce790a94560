import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'

// `holdfast doctor` relies on this: a sound store has no violation, and damage is found.

const bash = () => tool('bash', () => success('ran'), { needsApproval: true })
const asking = scriptOf({ calls: [{ tool: 'bash', input: {}, callId: 'c1' }] }, { text: 'done' })

/** Another program changes the database directly. */
function tamper(fixture: HomeFixture, statement: string): void {
  const database = new DatabaseSync(join(fixture.home, 'holdfast.db'))
  try {
    database.exec(statement)
  } finally {
    database.close()
  }
}

test('a store with finished, approved, waiting and cancelled runs is sound', async (context) => {
  const fixture = await openHomeFixture(context, { tools: [bash()], script: asking })
  const first = await fixture.ask('one')
  await fixture.wait(
    await answerApproval({ runId: first.id, verdicts: [{ callId: 'c1', verdict: 'approve' }] }, fixture.context),
  )
  const second = await fixture.ask('two')
  await cancelRun(second.id, fixture.context)
  await fixture.ask('three')
  const report = await checkStore(fixture.context)
  assert.deepEqual(report.violations, [])
  assert.deepEqual(report.notices, [])
  assert.equal(report.runs, 4)
  assert.equal(report.conversations, 1)
  assert.equal(report.messages, (await fixture.messages()).length)
})

test('a run that continues while it is checked is not a violation', async (context) => {
  const mayEnd = gate()
  const fixture = await openHomeFixture(context, {
    tools: [tool('slow', () => mayEnd.promise.then(() => success('ran')))],
    script: scriptOf({ calls: [{ tool: 'slow', input: {}, callId: 'c1' }] }, { text: 'done' }),
  })
  const runId = await fixture.send('go')
  const report = await checkStore(fixture.context)
  mayEnd.open()
  await fixture.wait(runId)
  assert.deepEqual(report.violations, [])
})

test('a message changed by another program is found and named', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'well' }) })
  const run = await fixture.ask('hi')
  tamper(fixture, `update messages set body = replace(body, 'well', 'ill') where role = 'assistant'`)
  const [violation, ...others] = (await checkStore(fixture.context)).violations
  assert.equal(violation?.invariant, 'I5')
  assert.equal(violation?.where, run.id)
  assert.deepEqual(others, [])
})

test('a deleted message is reported for its run and its conversation', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'well' }) })
  await fixture.ask('hi')
  tamper(fixture, `delete from messages where role = 'user'`)
  const found = (await checkStore(fixture.context)).violations.map((violation) => violation.invariant)
  assert.deepEqual([...new Set(found)].sort(), ['I5', 'I6', 'I7'])
})

test('a run whose worker is gone is a notice if no process can take it over', async (context) => {
  const started = gate()
  const fixture = await openHomeFixture(context, {
    tools: [
      tool('slow', () => {
        started.open()
        return new Promise(() => {})
      }),
    ],
    script: scriptOf({ calls: [{ tool: 'slow', input: {}, callId: 'c1' }] }, { text: 'done' }),
  })
  const runId = await fixture.send('go')
  await started.promise
  const { snapshot } = fixture.context
  const noWorkers = { ...snapshot, liveWorkers: async () => new Set<string>() }
  const report = await checkStore({ ...fixture.context, snapshot: noWorkers })
  assert.deepEqual(report.violations, [])
  assert.deepEqual(
    report.notices.map(({ where }) => where),
    [runId],
  )
})
