import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newHome, say, start, until } from './freezing-server.ts'

// Real server processes whose event loop really stands still.

test('SIGTERM ends a process whose event loop stands still, within the limit of the watchdog', async (context) => {
  const home = newHome(context)
  const served = await start(context, home)
  const agent: { id: string } = await served.fetch('POST', '/v1/agents', { name: 'a', model: 'freezing/model' })
  served.fetch('POST', `/v1/agents/${agent.id}/messages`, say('loop')).catch(() => undefined)
  await until(async () => (served.output().includes('the model holds the event loop') ? true : undefined))
  served.child.kill('SIGTERM')
  assert.equal(await served.ended, 'SIGKILL')
})
