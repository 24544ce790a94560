import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { holdfast, newHome, startHoldfast } from './holdfast.ts'

function tamper(home: string, statement: string): void {
  const database = new DatabaseSync(join(home, 'holdfast.db'))
  database.exec(statement)
  database.close()
}

describe('holdfast doctor', { concurrency: 3 }, () => {
  test('doctor reports damage and changes nothing; with --repair it reports each repair', async (context) => {
    const home = newHome(context)
    assert.equal((await holdfast(['run', 'hello'], { home })).code, 0)
    tamper(home, `update runs set status = 'failed'`)

    const named = await holdfast(['doctor'], { home })
    assert.equal(named.code, 1)
    assert.match(named.stdout, /✗ I5: .*status is "failed", the log says "completed"/s)
    assert.match(named.stdout, /run `\S.* doctor --repair` to repair/)
    assert.equal((await holdfast(['doctor'], { home })).code, 1)

    const repaired = await holdfast(['doctor', '--repair', '--json'], { home })
    assert.equal(repaired.code, 0)
    const report = JSON.parse(repaired.stdout)
    assert.deepEqual(Object.keys(report).sort(), [
      'conversations',
      'exposed',
      'lastBackup',
      'messages',
      'notices',
      'repairs',
      'runs',
      'sandbox',
      'violations',
    ])
    assert.match(report.repairs[0].did, /status was "failed" and is now "completed"/)
    const healthy = await holdfast(['doctor', '--repair'], { home })
    assert.equal(healthy.code, 0)
    assert.match(healthy.stdout, /Nothing to repair.*Every invariant holds/s)
  })

  test('violations left after a repair set the exit code', async (context) => {
    const home = newHome(context)
    assert.equal((await holdfast(['run', 'hello'], { home })).code, 0)
    tamper(home, `update runs set status = 'failed'`)
    tamper(home, `update messages set body = replace(body, '"text":"', '"text":"not ') where role = 'assistant'`)
    const { code, stdout } = await holdfast(['doctor', '--repair'], { home })
    assert.equal(code, 1)
    assert.match(stdout, /✓ repaired run-.*✗ I5.*differs from what the log says.*was not changed/s)
  })

  test('while another process owns the home, a repair is refused and a check works', async (context) => {
    const home = newHome(context)
    const run = startHoldfast(['run', 'count to 100'], { home })
    await run.waitForText('1 of 100')
    const refused = await holdfast(['doctor', '--repair'], { home })
    assert.equal(refused.code, 5)
    assert.match(refused.stderr, /is in use by another Holdfast/)
    assert.equal((await holdfast(['doctor'], { home })).code, 0)
    run.child.kill('SIGINT')
    assert.equal((await run.ended).code, 130)
  })
})
