import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'

test('the date of a slice is the time it was said, the same in every later replay', async (t) => {
  const script = scriptOf({ text: 'I print.', calls: [{ tool: 'print', input: {} }] }, { text: 'Printed.' })
  const { fixture, client } = await serveFixture(t, { script, tools: [tool('print')] })
  for (const streamTokens of [true, false]) {
    const runId = await fixture.send('go', { streamTokens })
    const dates = async () => {
      const seen: string[] = []
      for await (const event of await client.runs.messages.stream(runId, { include_pings: false }))
        if ('date' in event && String(event.message_type) !== 'ping') seen.push(String(event.date))
      return seen
    }
    const first = await dates()
    assert.ok(first.length >= 4)
    const { completedAt } = await fixture.get(runId)
    while (Date.now() < completedAt! + 1_100) await pause(50)
    assert.deepEqual(await dates(), first)
  }
})
