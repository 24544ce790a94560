import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openServer } from '../http/fixture-server-process.ts'
import { holdfast } from './holdfast.ts'

const NAME = 'ada\nfake  a line of its own\r\u001b[31mred\u0007\u200bwide\u202etxt'
const HIDDEN = ['\u001b[31m', '\u0007', '\u202e', '\u200b', '\r']

test('line breaks and invisible characters in a name are shown, and make no line of their own', async (context) => {
  const server = await openServer()
  context.after(() => server.close())
  const { home, environment } = server
  const made = await server.fetch('/v1/agents', {
    method: 'POST',
    body: JSON.stringify({ name: NAME, model: 'scripted/friendly', tags: [NAME] }),
  })
  const { id } = (await made.json()) as { id: string }
  assert.equal(made.status, 200)
  await server.fetch(`/v1/agents/${id}/messages`, { method: 'POST', body: JSON.stringify({ input: 'hello' }) })
  await server.fetch('/v1/organizations', { method: 'POST', body: JSON.stringify({ name: NAME }) })
  await server.fetch('/v1/users', { method: 'POST', body: JSON.stringify({ name: NAME }) })
  await server.fetch('/v1/keys', { method: 'POST', body: JSON.stringify({ name: NAME, scope: 'read' }) })
  const commands = [['agents'], ['agents', 'show', id], ['keys']]
  for (const command of commands) {
    const { stdout, stderr } = await holdfast(command, { home, environment })
    const output = stdout + stderr
    assert.doesNotMatch(output, /^fake/m, `${command.join(' ')}: ${output}`)
    const hidden = HIDDEN.filter((character) => output.includes(character))
    assert.deepEqual(hidden, [], `${command.join(' ')}: ${JSON.stringify(output)}`)
  }
})
