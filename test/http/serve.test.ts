import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { Json } from '../../src/core/json.ts'
import { TOOL_GRACE_MS } from '../../src/engine/engine.ts'
import type { Rule } from '../../src/simulator/script.ts'
import { type CliProcess, holdfast, newHome, startHoldfast } from '../cli/holdfast.ts'
import { KEY, openServer, type Server } from './fixture-server-process.ts'
import { readStream, type WireValue } from './send-modes.ts'

const inShell = promisify(execFile)
const outputOf = async (started: CliProcess): Promise<string> => {
  let text = ''
  started.child.stdout.on('data', (piece) => {
    text += piece
  })
  await started.waitForText('connects to this server')
  return text
}
const lineWith = (text: string, what: string) =>
  text
    .split('\n')
    .find((line) => line.includes(what))!
    .trim()

test('the start screen shows the address, the models, the key file, and commands that work when pasted', async (t) => {
  const home = newHome(t)
  const first = startHoldfast(['serve', '--port', '0'], { home })
  const firstOutput = await outputOf(first)
  assert.match(firstOutput, /Holdfast listens on http:\/\/127\.0\.0\.1:\d+/)
  assert.match(firstOutput, /Models {2}scripted/)
  assert.ok(firstOutput.includes(readFileSync(join(home, 'api-key'), 'utf8').trim()))
  const made = await inShell('sh', ['-c', lineWith(firstOutput, 'curl')])
  assert.match(made.stdout, /"id":"agent-/)
  first.child.kill('SIGTERM')
  assert.equal((await first.ended).code, 0)
  assert.ok(!existsSync(join(home, 'server.json')))

  const again = startHoldfast(['serve', '--port', '0'], { home })
  const secondOutput = await outputOf(again)
  assert.ok(!secondOutput.includes(readFileSync(join(home, 'api-key'), 'utf8').trim()), 'the key is shown once')
  const answered = await inShell('sh', ['-c', lineWith(secondOutput, 'curl')])
  assert.match(answered.stdout, /"assistant_message"/)
  assert.match(answered.stdout, /data: \[DONE\]/)

  const port = /127\.0\.0\.1:(\d+)/.exec(secondOutput)![1]!
  const another = { home: join(home, 'another') }
  const taken = await holdfast(['serve'], { ...another, environment: { PORT: port } })
  assert.equal(taken.code, 6)
  assert.match(
    taken.stderr,
    new RegExp(`^holdfast: 127\\.0\\.0\\.1:${port} is already in use. Choose another with --port`),
  )
  const second = await holdfast(['serve', '--port', '0'], { home })
  assert.equal(second.code, 5)
  assert.match(second.stderr, new RegExp(`A server for this home already runs at http://127\\.0\\.0\\.1:${port}`))
  again.child.kill('SIGTERM')
  await again.ended
})

describe('a server that shuts down', () => {
  let server: Server
  let agentId: string
  before(async () => {
    server = await openServer()
    const model = 'openai/simulated-model'
    const { id } = await server.client.agents.create({ name: 'ada', model, tools: ['slow_count'] } as never)
    agentId = id
  })
  after(() => server.close())

  const counting = (count: Json): Rule[] => [
    { when: { attempt: 1 }, answer: { calls: [{ id: 'call-1', name: 'slow_count', arguments: count }] } },
    { answer: { text: 'Counted.' } },
  ]
  const story = async (runId: string): Promise<WireValue> => {
    const options = { home: server.home, environment: server.environment }
    return JSON.parse((await holdfast(['runs', 'show', runId, '--json'], options)).stdout)
  }

  test('lets tools finish, releases turns without counting a death, and streams resume where they were', async () => {
    server.simulator.script(...counting({ to: 3, pauseSeconds: 0.5 }))
    const stream: WireValue = await server.client.agents.messages.create(agentId, {
      messages: [{ role: 'user', content: 'Count to 3' }],
      streaming: true,
    } as never)
    const seen: WireValue[] = []
    let stopping: Promise<void> | undefined
    for await (const event of stream) {
      seen.push(event)
      if (event.message_type === 'tool_call_message') stopping = server.stop()
    }
    await stopping
    const types = seen.map(({ message_type }) => message_type)
    assert.ok(types.includes('tool_return_message'), 'the tool finished, and the reader got its result')
    assert.ok(!types.includes('stop_reason') && !types.includes('usage_statistics'), 'the stream did not report an end')
    const runId: string = seen[0].run_id
    const left = await story(runId)
    assert.deepEqual([left.status, left.deaths], ['running', 0])

    await server.start()
    const last = Math.max(...seen.map(({ seq_id }) => seq_id ?? 0))
    const rest = await readStream(await server.client.runs.messages.stream(runId, { starting_after: last }))
    assert.deepEqual(
      rest.messages.map(({ message_type, content }) => [message_type, content]),
      [['assistant_message', 'Counted.']],
    )
    assert.equal(rest.stopReason, 'end_turn')
    const { deaths, events } = await story(runId)
    assert.equal(deaths, 0)
    const started = events.filter(({ event }: WireValue) => event.type === 'tool-started')
    assert.equal(started.length, 1, 'the tool was not run twice')
  })

  test('refuses new requests, ends streams without [DONE], and stops at once on a second signal', async () => {
    server.simulator.script(...counting({ to: 100, pauseSeconds: 5 }))
    const run = await server.client.agents.messages.createAsync(agentId, {
      messages: [{ role: 'user', content: 'Hi' }],
    })
    const watched = await server.fetch(`/v1/runs/${run.id}/stream`, { method: 'POST' })
    const reader = watched.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('tool_progress')) text += (await reader.read()).value
    const begun = Date.now()
    const stopped = server.stop()
    let answer = 0
    while (answer !== 503) answer = (await server.fetch('/v1/agents/count')).status
    assert.equal((await server.fetch('/v1/ready')).status, 503)
    const again = server.stop()
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value
    await Promise.all([stopped, again])
    assert.ok(Date.now() - begun < TOOL_GRACE_MS, 'it waited neither for the tool nor for its grace')
    assert.ok(!text.includes('[DONE]') && !text.includes('"stop_reason"'))
    assert.deepEqual(((await story(run.id)) as WireValue).deaths, 0)

    await server.start()
    // The run continues, and its idempotent tool starts again.
    await server.client.agents.messages.cancel(agentId)
    const { status, deaths } = await story(run.id)
    assert.deepEqual([status, deaths], ['cancelled', 0])
  })
})

test('a public address needs a long key', async (t) => {
  const options = { home: newHome(t), environment: { HOLDFAST_API_KEY: KEY.slice(0, 8) } }
  const refused = await holdfast(['serve', '--port', '0', '--host', '0.0.0.0'], options)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /the API key must have at least 32 characters/)
})
