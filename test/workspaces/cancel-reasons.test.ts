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

/** A tool that stops when it is told to, and remembers why. */
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

test('a tool is told that its run was cancelled', async (context) => {
  const { work, started, reasons } = listening()
  const house = await openHomeFixture(context, { tools: [work], script })
  const runId = await house.send('go')
  await started.promise
  await cancelRun(runId, house.context)
  await house.wait(runId)
  assert.deepEqual(reasons, ['cancelled'])
})

test('a tool is told that it took too long', async (context) => {
  const { work, reasons } = listening(50)
  const house = await openHomeFixture(context, { tools: [work], script })
  await house.ask('go')
  assert.deepEqual(reasons, ['timeout'])
})

test('a tool is told that the process stops, and what it then says is not its result', async (context) => {
  const { work, started, reasons } = listening()
  const house = await openHomeFixture(context, { tools: [work], script })
  const runId = await house.send('go')
  await started.promise
  await house.stop()
  assert.deepEqual(reasons, ['shutdown'])
  await house.restart()
  await house.wait(runId)
  assert.deepEqual(
    outcomesIn(await house.events(runId)).map(({ output }) => output),
    ['found'],
  )
})

test('a tool that is still being asked when the process stops is asked again by the next one', async (context) => {
  const { work, started } = listening()
  const asked = [gate(), gate()]
  let times = 0
  const verify = (): Promise<Verification> => {
    asked[times]?.open()
    times += 1
    return times === 1 ? new Promise(() => {}) : Promise.resolve({ type: 'done', answer: success('found') })
  }
  const house = await openHomeFixture(context, { tools: [{ ...work, verify }], script })
  const runId = await house.send('go')
  await started.promise
  await house.crash()
  await house.restart()
  await asked[0]?.promise
  await house.stop()
  await house.restart()
  await house.wait(runId)
  assert.equal(times, 2)
  assert.deepEqual(
    outcomesIn(await house.events(runId)).map(({ output }) => output),
    ['found'],
  )
})
