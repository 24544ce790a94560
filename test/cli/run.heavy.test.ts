import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { holdfast, newHome, startHoldfast } from './holdfast.ts'

// Each test has its own home and mostly waits for the model: running them concurrently takes a third of the time.
describe('holdfast run', { concurrency: 4 }, () => {
  test('run prints only the final answer on stdout, progress on stderr, and exits 0', async (context) => {
    const home = newHome(context)
    const { code, stdout, stderr } = await holdfast(['run', 'what time is it in Tokyo'], { home })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^It is .*\(Asia\/Tokyo\)\.\n$/)
    assert.match(stderr, /Let me look at the clock\.\n/)
    const whole = await holdfast(['run', '--no-stream', 'what time is it in Tokyo'], { home })
    assert.match(whole.stdout, /^It is .*\(Asia\/Tokyo\)\.\n$/)
    assert.match(stderr, /→ current_time \{"timeZone":"Asia\/Tokyo"\}\n.*✓ current_time: .*Tokyo/)
    assert.ok(!(stdout + stderr).includes('\x1b'), 'a pipe gets no colors')
  })

  test('run --json prints one object with the run, its messages and its usage', async (context) => {
    const home = newHome(context)
    const { code, stdout } = await holdfast(['run', '--json', 'roll two dice'], { home })
    assert.equal(code, 0)
    const output = JSON.parse(stdout)
    assert.match(output.run_id, /^run-/)
    assert.deepEqual([output.status, output.stop_reason, output.error], ['completed', 'end_turn', null])
    const roles = output.messages.map((message: { role: string }) => message.role)
    assert.deepEqual(roles, ['user', 'assistant', 'tool', 'assistant'])
    assert.equal(output.usage.step_count, 2)
    assert.ok(output.usage.total_tokens > 0)
  })

  test('run with a request id that was used before is the same turn, and with another message a refusal', async (context) => {
    const home = newHome(context)
    const send = (text: string) => holdfast(['run', '--json', '--request-id', 'report-1', text], { home })
    const [first, again] = [await send('roll two dice'), await send('roll two dice')]
    assert.deepEqual([first.code, again.code], [0, 0])
    assert.equal(JSON.parse(again.stdout).run_id, JSON.parse(first.stdout).run_id)
    const other = await send('think about the sea')
    assert.notEqual(other.code, 0)
    assert.match(other.stderr, /used for another message/)
  })

  test('run - reads the message from stdin and --no-stream prints the whole answer at the end', async (context) => {
    const home = newHome(context)
    const { code, stdout } = await holdfast(['run', '--no-stream', '-'], { home, input: 'think about the sea\n' })
    assert.equal(code, 0)
    assert.match(stdout, /^I thought about the sea\./)
  })

  test('the exit code of run reports a failed model, and stderr what was tried', async (context) => {
    const home = newHome(context)
    const { code, stdout, stderr } = await holdfast(['run', 'fail with auth'], { home })
    assert.equal(code, 20)
    assert.equal(stdout, '')
    assert.match(stderr, /! scripted\/friendly failed \(auth-rejected\).*Giving up: no remedy is left\./)
    assert.match(stderr, /✗ The model provider rejected the credential\./)
  })

  test('Ctrl-C cancels the turn: exit code 130, and the partial answer is kept', async (context) => {
    const home = newHome(context)
    const { child, waitForText, ended } = startHoldfast(['run', 'tell me a long story'], { home })
    await waitForText('lighthouse keeper')
    child.kill('SIGINT')
    const { code, stderr } = await ended
    assert.equal(code, 130)
    assert.match(stderr, /■ Cancelled\./)
    const { stdout } = await holdfast(['runs', 'list', '--json'], { home })
    const [run] = JSON.parse(stdout)
    assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled'])
    const story = JSON.parse((await holdfast(['runs', 'show', run.run_id, '--json'], { home })).stdout)
    assert.equal(story.messages.at(-1).cut, true)
  })

  test('another process can cancel a streaming run, and a second owner is refused', async (context) => {
    const home = newHome(context)
    const first = startHoldfast(['run', 'count to 100'], { home })
    await first.waitForText('1 of 100')

    const second = await holdfast(['run', 'hello'], { home })
    assert.equal(second.code, 5)
    assert.match(second.stderr, /^holdfast: .+\n$/)
    assert.ok(second.stderr.includes(home))

    const [run] = JSON.parse((await holdfast(['runs', '--json'], { home })).stdout)
    const cancelled = await holdfast(['runs', 'cancel', run.run_id], { home })
    assert.deepEqual([cancelled.code, cancelled.stderr], [0, ''])
    const { code, stderr } = await first.ended
    assert.equal(code, 130, stderr)

    const again = await holdfast(['runs', 'cancel', run.run_id], { home })
    assert.equal(again.code, 4)
    assert.match(again.stderr, /has already ended: cancelled/)
  })

  test('SIGTERM hands the turn over, and the next start finishes it without counting a death', async (context) => {
    const home = newHome(context)
    const { child, waitForText, ended } = startHoldfast(['run', 'tell me a long story'], { home })
    await waitForText('lighthouse keeper')
    child.kill('SIGTERM')
    assert.equal((await ended).code, 143)

    const next = startHoldfast(['chat'], { home })
    await next.waitForText('Continuing an unfinished turn')
    await next.waitForText('The text above was discarded')
    next.child.kill('SIGINT')
    next.child.stdin.end()
    assert.equal((await next.ended).code, 0)
    const [run] = JSON.parse((await holdfast(['runs', '--json'], { home })).stdout)
    assert.deepEqual([run.status, run.deaths], ['cancelled', 0])
  })
})
