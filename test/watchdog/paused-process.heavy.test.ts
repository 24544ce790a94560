import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { newHome, type Served, start, until } from './freezing-server.ts'

test('a process that was paused for longer than the limit is not frozen', async (context) => {
  const served = await start(context, newHome(context), 1)
  served.child.kill('SIGSTOP')
  await until(async () => (/^State:\tT/m.test(statusOf(served)) ? true : undefined))
  // Longer than the limit by the clock: the pause itself is what is tested.
  const before = Date.now()
  await until(async () => (Date.now() - before > 3_000 ? true : undefined))
  served.child.kill('SIGCONT')
  const health: object = await served.fetch('GET', '/v1/health')
  assert.match(JSON.stringify(health), /ok/)
  served.child.kill('SIGTERM')
  assert.equal(await served.ended, null)
})

const statusOf = ({ child }: Served): string => readFileSync(`/proc/${child.pid}/status`, 'utf8')
