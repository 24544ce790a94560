import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { holdfast, newHome } from './holdfast.ts'

test('the demo shows a tool, an approval, a cancel and kill -9, and leaves nothing behind', async (context) => {
  const home = newHome(context)
  const { code, stdout, stderr } = await holdfast(['demo', '--fast'], { home: `${home}/own` })
  assert.equal(code, 0, stdout + stderr)
  for (const part of ['✓ current_time', 'needs your approval', '■ Cancelled', 'Killed (SIGKILL)', 'worker 1 died'])
    assert.ok(stdout.includes(part), part)
  assert.match(stdout, /Every invariant holds/)
  const [played] = /\/\S*holdfast-demo-\w+/.exec(stdout)!
  assert.equal(existsSync(played), false)
  assert.equal(existsSync(`${home}/own`), false, "the user's own home is not touched")
})
