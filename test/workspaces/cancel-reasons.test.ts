import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Verification } from '../../src/ports/tool.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { success } from '../../src/tools/define-tool.ts'
import { openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'
import { outcomesIn } from './fixture-turns.ts'

const script = scriptOf({ calls: [{ tool: 'work', input: {}, callId: 'a' }] }, { text: 'done' })

/** A tool that stops on its signal and records the reason. */
function listening(timeoutMs = 60_000) {
  const started = gate()
  const reasons: unknown[] = []
  const work = tool(
    'work',
    (_, { signal }) => {
      started.open()
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof success>>()
      signal.addEventListener('abort', () => {
        reasons.push(signal.reason)
        resolve(success('stopped'))
      })
      return promise
    },
    { effects: 'verifiable', timeoutMs, verify: async () => ({ type: 'done', answer: success('found') }) },
  )
  return { work, started, reasons }
}

test('the signal of a tool says that its run was cancelled', async (context) => {
  const { work, started, reasons } = listening()
  const fixture = await openHomeFixture(context, { tools: [work], script })
  const runId = await fixture.send('go')
  await started.promise
  await cancelRun(runId, fixture.context)
  await fixture.wait(runId)
  assert.deepEqual(reasons, ['cancelled'])
})

test('the signal of a tool says that it timed out', async (context) => {
  const { work, reasons } = listening(50)
  const fixture = await openHomeFixture(context, { tools: [work], script })
  await fixture.ask('go')
  assert.deepEqual(reasons, ['timeout'])
})

test('the signal of a tool says that the process stops, and its answer after that is not recorded', async (context) => {
  const { work, started, reasons } = listening()
  const fixture = await openHomeFixture(context, { tools: [work], script })
  const runId = await fixture.send('go')
  await started.promise
  await fixture.stop()
  assert.deepEqual(reasons, ['shutdown'])
  await fixture.restart()
  await fixture.wait(runId)
  assert.deepEqual(
    outcomesIn(await fixture.events(runId)).map(({ output }) => output),
    ['found'],
  )
})

test('a verification interrupted by a shutdown is repeated by the next process', async (context) => {
  const { work, started } = listening()
  const verified = [gate(), gate()]
  let times = 0
  const verify = (): Promise<Verification> => {
    verified[times]?.open()
    times += 1
    return times === 1 ? new Promise(() => {}) : Promise.resolve({ type: 'done', answer: success('found') })
  }
  const fixture = await openHomeFixture(context, { tools: [{ ...work, verify }], script })
  const runId = await fixture.send('go')
  await started.promise
  await fixture.crash()
  await fixture.restart()
  await verified[0]?.promise
  await fixture.stop()
  await fixture.restart()
  await fixture.wait(runId)
  assert.equal(times, 2)
  assert.deepEqual(
    outcomesIn(await fixture.events(runId)).map(({ output }) => output),
    ['found'],
  )
})
