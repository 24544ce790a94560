import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { holdfast, lacksTerminal, newHome, startAtTerminal, startHoldfast } from './holdfast.ts'

const CONTROL_C = '\x03'
const CONTROL_D = '\x04'

// Each test has its own home and mostly waits for the model: running them concurrently takes a third of the time.
describe('holdfast chat', { concurrency: 4 }, () => {
  test('chat without a terminal and without input prints examples and exits 0', async (context) => {
    const { code, stdout, stderr } = await holdfast(['chat'], { home: newHome(context) })
    assert.deepEqual([code, stderr], [0, ''])
    for (const hint of ['what time is it in Tokyo', 'count to 20', 'postcard', 'To chat, use one of'])
      assert.ok(stdout.includes(hint), hint)
    assert.match(stdout, /holdfast (-- )?demo shows all of it/)
  })

  test('chat without a terminal answers each line of its input and exits 0', async (context) => {
    const home = newHome(context)
    const input = 'remember that Ada likes tea\n\nwhat do you remember\n/runs\n/nonsense\n'
    const { code, stdout, stderr } = await holdfast(['chat'], { home, input })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /you › remember that Ada likes tea\n.*→ write_note.*✓ write_note: Noted/s)
    assert.match(stdout, /you › what do you remember\n.*This is in my notebook:\n- Ada likes tea/s)
    assert.match(stdout, /run-[0-9a-f-]+ {2}completed/)
    assert.match(stdout, /Unknown command \/nonsense/)
    assert.ok(!stdout.includes('\x1b'))
  })

  test('without a terminal an approval stays pending, and more input is refused with the next step', async (context) => {
    const home = newHome(context)
    const input = 'send a postcard to Ada saying hi\nhello\n'
    const { code, stdout, stderr } = await holdfast(['chat'], { home, input })
    assert.equal(code, 4)
    assert.match(stdout, /send_postcard needs your approval\n\s+to: Ada\n\s+message: hi\n/)
    assert.match(stdout, /The approval is still pending.*holdfast (-- )?approvals approve run-/s)
    assert.match(stderr, /waiting for approval/)
  })

  test('run stops for an approval, another process approves it, and the next start continues the turn', async (context) => {
    const home = newHome(context)
    const asked = await holdfast(['run', 'send a postcard to Ada saying hi'], { home })
    assert.equal(asked.code, 11)
    const [pending] = JSON.parse((await holdfast(['approvals', '--json'], { home })).stdout)
    assert.match(asked.stderr, new RegExp(`approvals approve ${pending.run_id}`))

    const wrong = await holdfast(['approvals', 'approve', pending.run_id, 'call-x'], { home })
    assert.equal(wrong.code, 3)
    const approved = await holdfast(['approvals', 'approve', pending.run_id], { home })
    assert.equal(approved.code, 0, approved.stderr)

    const carried = await holdfast(['chat'], { home })
    assert.equal(carried.code, 0)
    assert.match(
      carried.stdout,
      /Continuing an answered approval.*✓ send_postcard: The postcard to Ada is in the outbox/s,
    )
    assert.equal(readFileSync(join(home, 'outbox.jsonl'), 'utf8').trim().split('\n').length, 1)
  })

  test('a running chat continues at once when another process answers the approval', async (context) => {
    const home = newHome(context)
    const chat = startHoldfast(['chat'], { home })
    chat.type('forget everything\n')
    await chat.waitForText('The approval is still pending')
    const [pending] = JSON.parse((await holdfast(['approvals', '--json'], { home })).stdout)
    const denied = await holdfast(['approvals', 'deny', pending.run_id, '--reason', 'keep them'], { home })
    assert.equal(denied.code, 0, denied.stderr)
    chat.type('what do you remember\n')
    await chat.waitForText('The notebook is empty')
    chat.child.stdin.end()
    assert.equal((await chat.ended).code, 0)
    const { stdout } = await holdfast(['runs', 'show', pending.run_id], { home })
    assert.match(stdout, /approval answered: erase_notes denied: keep them/)
  })

  test('at a terminal, chat asks for approvals, Ctrl-C cancels a turn and Ctrl-D leaves', {
    skip: lacksTerminal,
  }, async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home })
    await chat.waitForText('you ›')
    // Typed before the question was shown: it must not answer it.
    chat.type('send a postcard to Ada saying hi\ry\r')
    await chat.waitForText('y = yes')
    chat.type('not today\r')
    await chat.waitForText('Reason: not today.')
    await chat.waitForText('Hello! I am the built-in model')

    chat.type('count to 100\r')
    await chat.waitForText('3 of 100')
    chat.type(CONTROL_C)
    await chat.waitForText('Cancelled.')
    chat.type(CONTROL_D)
    const { code, stdout } = await chat.ended
    assert.equal(code, 0)
    assert.ok(stdout.includes('\x1b[1myou ›'))

    const history = join(home, 'chat-history')
    assert.equal(readFileSync(history, 'utf8'), 'send a postcard to Ada saying hi\ny\ncount to 100\n')
    assert.equal(statSync(history).mode & 0o777, 0o600)
  })

  test('at a terminal, chat asks again about a pending approval at the next start', {
    skip: lacksTerminal,
  }, async (context) => {
    const home = newHome(context)
    const first = startAtTerminal(['chat'], { home })
    await first.waitForText('you ›')
    first.type('send a postcard to Ada saying hi\r')
    await first.waitForText('y = yes')
    first.type(CONTROL_C)
    await first.waitForText('The approval is still pending')
    assert.equal((await first.ended).code, 0)

    const second = startAtTerminal(['chat'], { home })
    await second.waitForText('An approval is still pending')
    await second.waitForText('y = yes')
    second.type('y\r')
    await second.waitForText('The postcard to Ada is in the outbox')
    second.type('/quit\r')
    assert.equal((await second.ended).code, 0)
  })
})
