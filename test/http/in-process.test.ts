import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inProcessServer } from '../../src/http/in-process.ts'
import { openMemoryFixture } from '../harness/fixture-memory.ts'

test('a command without a server gets answers of any size, agent files too', async (t) => {
  const { context } = await openMemoryFixture(t)
  const { send, close } = await inProcessServer({ context, version: 'test' })
  t.after(close)
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const response = await send(path, body ? { method, headers, body: JSON.stringify(body) } : { method })
    assert.equal(response.status, 200, `${method} ${path}`)
    return response.text()
  }
  const value = 'tea '.repeat(10_000)
  const memory_blocks = [{ label: 'human', value, limit: value.length }]
  const made = await ask('POST', '/v1/agents/', { name: 'big', model: 'test/model', memory_blocks })
  const { id } = JSON.parse(made)
  const file = await ask('GET', `/v1/agents/${id}/export`)
  assert.ok(file.includes(value))
  assert.ok((await ask('GET', '/v1/agents/?include=agent.blocks')).includes(value))
})
