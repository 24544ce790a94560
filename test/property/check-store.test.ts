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
function tamper(house: HomeFixture, statement: string): void {
  const database = new DatabaseSync(join(house.home, 'holdfast.db'))
  try {
    database.exec(statement)
  } finally {
    database.close()
  }
}

test('a store with finished, approved, waiting and cancelled runs is sound', async (context) => {
  const house = await openHomeFixture(context, { tools: [bash()], script: asking })
  const first = await house.ask('one')
  await house.wait(
    await answerApproval({ runId: first.id, verdicts: [{ callId: 'c1', verdict: 'approve' }] }, house.context),
  )
  const second = await house.ask('two')
  await cancelRun(second.id, house.context)
  await house.ask('three')
  const report = await checkStore(house.context)
  assert.deepEqual(report.violations, [])
  assert.deepEqual(report.notices, [])
  assert.equal(report.runs, 4)
  assert.equal(report.conversations, 1)
  assert.equal(report.messages, (await house.messages()).length)
})

test('a run that continues while it is checked is not a violation', async (context) => {
  const mayEnd = gate()
  const house = await openHomeFixture(context, {
    tools: [tool('slow', () => mayEnd.promise.then(() => success('ran')))],
    script: scriptOf({ calls: [{ tool: 'slow', input: {}, callId: 'c1' }] }, { text: 'done' }),
  })
  const runId = await house.send('go')
  const report = await checkStore(house.context)
  mayEnd.open()
  await house.wait(runId)
  assert.deepEqual(report.violations, [])
})

test('a message changed by another program is found and named', async (context) => {
  const house = await openHomeFixture(context, { script: scriptOf({ text: 'well' }) })
  const run = await house.ask('hi')
  tamper(house, `update messages set body = replace(body, 'well', 'ill') where role = 'assistant'`)
  const [violation, ...others] = (await checkStore(house.context)).violations
  assert.equal(violation?.invariant, 'I5')
  assert.equal(violation?.where, run.id)
  assert.deepEqual(others, [])
})

test('a deleted message is reported for its run and its conversation', async (context) => {
  const house = await openHomeFixture(context, { script: scriptOf({ text: 'well' }) })
  await house.ask('hi')
  tamper(house, `delete from messages where role = 'user'`)
  const found = (await checkStore(house.context)).violations.map((violation) => violation.invariant)
  assert.deepEqual([...new Set(found)].sort(), ['I5', 'I6', 'I7'])
})

test('a run whose worker is gone is a notice if no process can take it over', async (context) => {
  const started = gate()
  const house = await openHomeFixture(context, {
    tools: [
      tool('slow', () => {
        started.open()
        return new Promise(() => {})
      }),
    ],
    script: scriptOf({ calls: [{ tool: 'slow', input: {}, callId: 'c1' }] }, { text: 'done' }),
  })
  const runId = await house.send('go')
  await started.promise
  const { snapshot } = house.context
  const nobody = { ...snapshot, liveWorkers: async () => new Set<string>() }
  const report = await checkStore({ ...house.context, snapshot: nobody })
  assert.deepEqual(report.violations, [])
  assert.deepEqual(
    report.notices.map(({ where }) => where),
    [runId],
  )
})
