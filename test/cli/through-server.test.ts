import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { findServer, newServerConnection } from '../../src/cli/server/server-connection.ts'
import { removeServerNote, writeServerNote } from '../../src/disk/server-file.ts'
import { holdfast, newHome, startHoldfast, startServing } from './holdfast.ts'

test('a server restart during a turn only pauses the output, and nothing is printed twice', async (t) => {
  const home = newHome(t)
  const killed = await startServing(home)
  const run = startHoldfast(['run', 'count to 4'], { home })
  await run.waitForText('2 of 4')
  killed.child.kill('SIGKILL')
  await killed.ended
  await run.waitForText('Lost the connection to the server; waiting for it to restart')
  const server = await startServing(home)
  const { code, stdout, stderr } = await run.ended
  assert.equal(code, 0, stderr)
  assert.match(stderr, /The process running this turn died; another worker continues/)
  assert.equal(stdout.match(/Counted from 1 to 4/g)?.length, 1, stdout)
  const cache = await holdfast(['cache', '--json'], { home })
  assert.equal(JSON.parse(cache.stdout).conversations, 1, cache.stderr)
  assert.match((await holdfast(['cache'], { home })).stdout, /Cached +1 of at most 128 conversations/)
  server.child.kill('SIGTERM')
  await server.ended
})

test('server-sent events are parsed with any line ending and split, without comments and other fields', async (t) => {
  const home = newHome(t)
  const pieces = ['data: o', 'ne\r\n\r', '\n: a comment\n\nid: 7\nevent: step\ndata: two\n', 'data: lines\n\ndata: cut']
  const server = createServer(async (_, response) => {
    for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve))
    response.end()
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeServerNote(home, { url, pid: process.pid, started: '' })
  const line = newServerConnection({ home, givenKey: 'a key', notify: () => {} })
  const heard: string[] = []
  for await (const data of line.streamEvents('/any', t.signal)) heard.push(data)
  assert.deepEqual(heard, ['one', 'two\nlines'])
})

test('a file left by a killed server does not block a command', async (t) => {
  const home = newHome(t)
  writeServerNote(home, { url: 'http://127.0.0.1:9', pid: process.pid, started: '' })
  const { code, stdout, stderr } = await holdfast(['run', 'what time is it'], { home })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\d\d:\d\d/)
})

test('a server is found by its file while its process is alive and healthy', async (t) => {
  const home = newHome(t)
  let status = 200
  const server = createServer((_, response) => void response.writeHead(status).end()).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const note = { url, pid: process.pid, started: '' }
  assert.equal(await findServer(home), undefined)
  writeServerNote(home, note)
  assert.equal(await findServer(home), url)
  status = 500
  assert.equal(await findServer(home), undefined)
  status = 200
  for (const text of [JSON.stringify({ ...note, pid: 2 ** 22 + 1 }), '{"pid":"x"}', '{"url":', '']) {
    writeFileSync(join(home, 'server.json'), text)
    assert.equal(await findServer(home), undefined, text)
  }
  writeServerNote(home, note)
  removeServerNote(home, process.pid + 1)
  assert.equal(await findServer(home), url, 'the file of another server stays')
  removeServerNote(home, process.pid)
  assert.equal(await findServer(home), undefined)
})

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
