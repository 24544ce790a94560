import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdfast, newHome, startHoldfast, startServing } from './holdfast.ts'

test('agents update changes the chain of an agent, with and without a server', async (t) => {
  const home = newHome(t)
  const agents = (...args: string[]) => holdfast(['agents', ...args], { home })
  assert.equal((await agents('create', 'ada')).code, 0)
  const set = await agents('update', 'ada', '--model', 'openai/gpt-4.1', '--fallback', 'scripted/friendly')
  assert.match(set.stdout, /^Updated ada \(agent-[^)]+\): openai\/gpt-4\.1 → scripted\/friendly\.$/m, set.stderr)
  const refused = await agents('update', 'ada', '--fallback', 'scripted/friendly', 'nobody/model')
  assert.notEqual(refused.code, 0)
  assert.match(refused.stderr, /fallback\.1: provider nobody/)
  assert.match((await agents('update', 'ada')).stderr, /Nothing to change/)
  const server = await startServing(home)
  assert.equal((await agents('update', 'ada', '--no-fallback')).code, 0)
  assert.match((await agents('show', 'ada')).stdout, /models +openai\/gpt-4\.1$/m)
  const chain = await agents('update', 'ada', '--model', 'scripted/friendly', 'openai/gpt-4.1')
  assert.match(chain.stdout, /scripted\/friendly → openai\/gpt-4\.1/, chain.stderr)
  assert.match(
    (await agents('update', 'ada', '--model', 'openai/gpt-4.1')).stderr,
    /fallback\.0: .* is already the model/,
  )
  server.child.kill('SIGTERM')
  await server.ended
})

test('what a message does while a turn runs, when sessions end, and which commands wait, are set with and without a server', async (t) => {
  const home = newHome(t)
  const agents = (...args: string[]) => holdfast(['agents', ...args], { home })
  const shown = async () => {
    const { when_busy, session_expiry, command_approval } = JSON.parse((await agents('show', 'ada', '--json')).stdout)
    return [when_busy, session_expiry, command_approval]
  }
  const created = await agents(
    ...['create', 'ada', '--when-busy', 'steer', '--idle-minutes', '90', '--command-approval', 'ask'],
  )
  assert.equal(created.code, 0, created.stderr)
  assert.deepEqual(await shown(), ['steer', { idle_minutes: 90, daily_at: null, timezone: null }, 'ask'])
  assert.match(
    (await agents('show', 'ada')).stdout,
    /busy +steer\n +sessions +end after 90 idle minutes\n +commands +every command waits for approval$/m,
  )
  const wrong = [
    [['--command-approval', 'maybe'], /Allowed choices are ask, destructive, never/],
    [['--when-busy', 'sometimes'], /Allowed choices are queue, steer, interrupt, reject/],
    [['--idle-minutes', '0'], /whole number from 1 to/],
    [['--daily-at', '25:00'], /"25:00" is not a time of day/],
    [['--timezone', 'Europe/Berlin'], /--timezone needs --daily-at/],
    [['--daily-at', '04:00', '--timezone', 'Mars/Olympus'], /"Mars\/Olympus" is not a time zone/],
  ] as const
  for (const [flags, named] of wrong) {
    const refused = await agents('update', 'ada', ...flags)
    assert.notEqual(refused.code, 0)
    assert.match(refused.stderr, named)
  }
  const server = await startServing(home)
  const daily = await agents(
    'update',
    'ada',
    '--when-busy',
    'reject',
    '--daily-at',
    '04:00',
    '--timezone',
    'Asia/Tokyo',
  )
  assert.equal(daily.code, 0, daily.stderr)
  assert.deepEqual(await shown(), ['reject', { idle_minutes: null, daily_at: '04:00', timezone: 'Asia/Tokyo' }, 'ask'])
  assert.equal((await agents('update', 'ada', '--no-session-expiry')).code, 0)
  assert.deepEqual(await shown(), ['reject', null, 'ask'])
  server.child.kill('SIGTERM')
  await server.ended
  assert.equal((await agents('update', 'ada', '--when-busy', 'queue', '--idle-minutes', '5')).code, 0)
  assert.deepEqual(await shown(), ['queue', { idle_minutes: 5, daily_at: null, timezone: null }, 'ask'])
})

test('--when-busy of a run: refused, joined, or first in line behind the turn it cancels', async (t) => {
  const home = newHome(t)
  const server = await startServing(home)
  const counting = startHoldfast(['run', 'count to 30'], { home })
  await counting.waitForText('2 of 30')
  const rejected = await holdfast(['run', 'hello', '--when-busy', 'reject'], { home })
  assert.notEqual(rejected.code, 0)
  assert.match(rejected.stderr, /another request is currently being processed/)
  const joining = startHoldfast(['run', 'and say hello', '--when-busy', 'steer'], { home })
  await joining.waitForText('The message joins the turn that runs')
  const cut = await holdfast(['run', 'what time is it', '--when-busy', 'interrupt'], { home })
  assert.equal(cut.code, 0, cut.stderr)
  assert.match(cut.stdout, /\d\d:\d\d/)
  assert.notEqual((await counting.ended).code, 0, 'it was cancelled')
  assert.notEqual((await joining.ended).code, 0, 'a cancel withdraws what joined the turn')
  server.child.kill('SIGTERM')
  await server.ended
})
