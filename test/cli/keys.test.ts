import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestOf } from '../http/fixture-keyed-server.ts'
import { holdfast, newHome, startHoldfast } from './holdfast.ts'

const HOME_KEY = 'the-key-of-the-home-0123456789-0123456789'

test('keys are created, listed and revoked while a server runs, and the server applies it', async (context) => {
  const place = { home: newHome(context), environment: { HOLDFAST_API_KEY: HOME_KEY } }
  const server = startHoldfast(['serve', '--port', '0'], place)
  let said = ''
  server.child.stdout.on('data', (text) => {
    said += text
  })
  await server.waitForText('Try it:')
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)![0]
  const run = (...args: string[]) => holdfast(args, place)

  assert.match((await run('organizations', 'create', 'acme')).stdout, /^Created acme \(org-/)
  const made = await run('keys', 'create', 'phone', '--scope', 'agent', '--organization', 'acme')
  const key = made.stdout.trim()
  assert.match(key, /^hfk-[0-9a-f]{12}-[0-9a-f]{64}$/)
  const id = /key-[0-9a-f-]{36}/.exec(made.stderr)![0]
  assert.match((await run('keys', 'list', '--organization', 'acme')).stdout, new RegExp(`phone +${id} .*valid`))

  const ask = (path: string, body?: unknown) =>
    fetch(`${url}${path}`, { method: body ? 'POST' : 'GET', ...requestOf(key, body) })
  const wish = { name: 'ada', model: 'scripted/friendly', tools: ['slow_count'] }
  const agent = (await (await ask('/v1/agents', wish)).json()) as { id: string }
  const stream = await ask(`/v1/agents/${agent.id}/messages/stream`, { input: 'count to 60' })
  assert.equal(stream.status, 200)
  const ended = assert.rejects(stream.text())
  assert.equal((await run('keys', 'revoke', id, '--organization', 'acme')).code, 0)
  await ended
  assert.equal((await ask('/v1/agents')).status, 401)

  const { stdout: output } = await run('audit', '--organization', 'acme', '--json')
  const lines = JSON.parse(output) as { verb: string; actor: string; outcome: string }[]
  assert.deepEqual(
    lines.map(({ verb, actor, outcome }) => [verb, actor, outcome]),
    [
      ['key.create', 'command-line', 'done'],
      ['POST /v1/agents', id, 'done'],
      ['key.revoke', 'command-line', 'done'],
      ['GET /v1/agents', id, 'refused'],
    ],
  )
  const following = startHoldfast(['audit', '--follow', '--json', '--limit', '1'], place)
  let streamed = ''
  following.child.stdout.on('data', (text) => {
    streamed += text
  })
  await following.waitForText('organization.create')
  await run('organizations', 'create', 'later')
  await following.waitForText('"sequence":2')
  following.child.kill('SIGINT')
  await following.ended
  const entries = streamed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { sequence: number })
  assert.deepEqual(
    entries.map(({ sequence }) => sequence),
    [1, 2],
  )
  assert.equal((await run('keys', 'revoke', 'key-nobody')).code, 3)
  server.child.kill('SIGKILL')
  await server.ended
})
