import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEY } from './fixture-server-process.ts'
import { serveOpenai } from './openai-clients.ts'

const MODEL = 'agent:ada'
const CHATS: Record<string, { headers?: Record<string, string>; more?: object }> = {
  'a fresh conversation': {},
  'the conversation of a person': { more: { user: 'anna' } },
  'a chat of Open WebUI': { headers: { 'x-openwebui-chat-id': 'c1' } },
}

for (const [what, { headers = {}, more = {} }] of Object.entries(CHATS)) {
  test(`${what}: a retry attaches to the run of its request, and the same body without one is a new turn`, async (context) => {
    const { simulator, url, agent, client } = await serveOpenai(context)
    simulator.script({ answer: { text: 'Yes.' } })
    const ask = async (count: number, text = 'Hello') => {
      const response = await fetch(`${url}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${KEY}`,
          'content-type': 'application/json',
          'x-stainless-retry-count': String(count),
          ...headers,
        },
        body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: text }], ...more }),
      })
      assert.equal(response.status, 200, await response.clone().text())
      return response.headers.get('x-run-id')
    }
    const first = await ask(0)
    assert.equal(await ask(1), first, 'also after the first one was answered: the answer may have been lost')
    assert.equal(await ask(2), first)
    const second = await ask(0)
    assert.notEqual(second, first)
    assert.equal(await ask(1), second, 'a retry belongs to the newest one')
    assert.notEqual(await ask(1, 'Another'), second, 'another body is another request')
    // All copies at once, in any order from there on: one turn.
    const together = await Promise.all([0, 1, 2, 3].map((count) => ask(count, 'At once')))
    assert.equal(new Set(together).size, 1, String(together))
    const runs = (await client.runs.list({ agent_id: agent.id })).getPaginatedItems()
    assert.equal(runs.length, 4)
  })
}

test('a retry that comes after ten minutes is a request of its own', async (context) => {
  const { simulator, url, fixture } = await serveOpenai(context)
  simulator.script({ answer: { text: 'Yes.' } })
  const { clock } = fixture.context.deps
  const { now } = clock
  const ask = async (count: number) => {
    const response = await fetch(`${url}/openai/v1/responses`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        'x-stainless-retry-count': String(count),
      },
      body: JSON.stringify({ model: MODEL, input: 'Hello' }),
    })
    return response.headers.get('x-run-id')
  }
  const first = await ask(0)
  try {
    Object.assign(clock, { now: () => now.call(clock) + 9 * 60_000 })
    assert.equal(await ask(1), first)
    Object.assign(clock, { now: () => now.call(clock) + 11 * 60_000 })
    assert.notEqual(await ask(1), first)
  } finally {
    Object.assign(clock, { now })
  }
})
