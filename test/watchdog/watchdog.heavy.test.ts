import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newHome, say, start, until } from './freezing-server.ts'

test('a turn that stops the event loop ends its process, and the third time it ends itself, while others are served', async (context) => {
  const home = newHome(context)
  const first = await start(context, home)
  const agent: { id: string } = await first.fetch('POST', '/v1/agents', { name: 'a', model: 'freezing/model' })
  const other: { id: string } = await first.fetch('POST', '/v1/agents', { name: 'b', model: 'freezing/model' })
  await first.fetch('POST', `/v1/agents/${other.id}/messages`, say('hello'))
  const sent = first.fetch('POST', `/v1/agents/${agent.id}/messages`, say('backtrack')).catch(() => undefined)
  assert.equal(await first.ended, 'SIGKILL')
  await sent
  assert.match(
    first.output(),
    /The event loop stood still for 2 s, so the watchdog ends this process\. It was in .*stream/,
  )
  const record = JSON.parse(readFileSync(join(home, 'last-freeze.json'), 'utf8'))
  assert.match(record.stack.join('\n'), /stream \(test\/watchdog\/serve-freezing\.ts:\d+\)/)
  assert.match(record.lastNotes.join('\n'), /call-model of run-/)
  assert.match(record.lastNotes.join('\n'), /POST \/v1\/agents/)

  for (const _ of ['second', 'third']) assert.equal(await (await start(context, home)).ended, 'SIGKILL')
  const last = await start(context, home)
  assert.match(last.output(), /The last process was ended by its watchdog at .* stood still for 2 s in .*stream/)
  const answer: { messages: object[] } = await last.fetch('POST', `/v1/agents/${other.id}/messages`, say('hello'))
  assert.match(JSON.stringify(answer.messages), /well/)
  const runs: { id: string; status: string }[] = await last.fetch('GET', `/v1/runs?agent_id=${agent.id}`)
  const ended = await until(async () => {
    const run: { status: string } = await last.fetch('GET', `/v1/runs/${runs[0]!.id}`)
    return run.status === 'failed' ? run : undefined
  })
  assert.match(JSON.stringify(ended), /worker_lost/)
  last.child.kill('SIGTERM')
  assert.equal(await last.ended, null)
})
