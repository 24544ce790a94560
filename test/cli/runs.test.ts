import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { holdfast, newHome, startHoldfast } from './holdfast.ts'

// Each test has its own home and mostly waits for the model: running them concurrently takes a third of the time.
describe('holdfast runs', { concurrency: 4 }, () => {
  test('runs show prints the whole history of a run that survived kill -9', async (context) => {
    const home = newHome(context)
    const first = startHoldfast(['run', 'count to 3'], { home })
    await first.waitForText('1 of 3')
    first.child.kill('SIGKILL')
    assert.equal((await first.ended).signal, 'SIGKILL')
    const recovered = await holdfast(['chat'], { home })
    assert.equal(recovered.code, 0)
    assert.match(recovered.stdout, /Continuing an unfinished turn.*✓ slow_count: Counted from 1 to 3\./s)

    const [run] = JSON.parse((await holdfast(['runs', '--json'], { home })).stdout)
    const { code, stdout } = await holdfast(['runs', 'show', run.run_id], { home })
    assert.equal(code, 0)
    const story = [
      /completed \(end_turn\)/,
      /\+0\.000s {2}accepted "count to 3"/,
      /answered by scripted\/friendly: \d+ \+ \d+ tokens/,
      /calls slow_count \{"to":3\}/,
      /tool started: slow_count \(by worker 1/,
      /worker 1 died/,
      /tool started: slow_count \(by worker 2/,
      /tool ended: slow_count, success/,
      /ended: end_turn/,
      /2 steps/,
    ]
    let place = 0
    for (const part of story) {
      const found = stdout.slice(place).search(part)
      assert.ok(found >= 0, `${part} is missing, or too early, in\n${stdout}`)
      place += found
    }
    const doctor = await holdfast(['doctor', '--json'], { home })
    assert.equal(doctor.code, 0)
    assert.deepEqual(JSON.parse(doctor.stdout).violations, [])
  })

  test('runs show prints attempts, remedies and the cause of a cancel', async (context) => {
    const home = newHome(context)
    const failed = JSON.parse((await holdfast(['run', '--json', 'fail with malformed answer'], { home })).stdout)
    assert.equal(failed.stop_reason, 'invalid_llm_response')
    const output = (await holdfast(['runs', 'show', failed.run_id], { home })).stdout
    assert.match(output, /attempt failed: scripted\/friendly, malformed-answer/)
    assert.match(output, /remedy: wait\..*remedy: give-up\./s)
    assert.match(output, /ended: invalid_llm_response\n\s+llm_error: The model sent an answer that cannot be parsed\./)

    const asked = await holdfast(['run', 'forget everything'], { home })
    assert.equal(asked.code, 11)
    const [pending] = JSON.parse((await holdfast(['approvals', '--json'], { home })).stdout)
    assert.match((await holdfast(['runs', 'cancel', pending.run_id], { home })).stdout, /is cancelled\./)
    assert.match((await holdfast(['runs', 'show', pending.run_id], { home })).stdout, /cancel requested by a person/)
  })

  test('an agent is created with a model, a system prompt and tools, and used by name', async (context) => {
    const home = newHome(context)
    const flags = [
      '--model',
      'openai/no-such-model',
      'scripted/friendly',
      '--system',
      'Be brief.',
      '--tool',
      'roll_dice',
    ]
    assert.equal((await holdfast(['agents', 'create', 'gambler', ...flags], { home })).code, 0)
    const shown = JSON.parse((await holdfast(['agents', 'show', 'gambler', '--json'], { home })).stdout)
    assert.deepEqual([shown.system, shown.tools, shown.fallback], ['Be brief.', ['roll_dice'], ['scripted/friendly']])

    const { code, stdout, stderr } = await holdfast(['run', '--agent', 'gambler', 'roll a die'], { home })
    assert.equal(code, 0, stderr)
    assert.match(stderr, /openai\/no-such-model failed.*Failing over to the next model/s)
    assert.match(stdout, /You rolled a \d/)
  })
})
