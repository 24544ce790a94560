import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerTo } from '../../src/providers/scripted/friendly-rules.ts'
import { findDestruction } from '../../src/tools/workspace/destructive-commands.ts'
import { caseCount } from '../harness/case-count.ts'
import { serveFixture } from './fixture-resource-server.ts'

// Requests that stopped the server for every tenant. Each is answered, and the processor time that it may take is far
// below what it took: the machine may be busy, but processor time is not longer then.

const MODEL = 'test/model'

/** The processor time of this process, which is the server. */
async function secondsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

type Sent = { status: number; body: Record<string, never> & { id: string; detail: string; tool_return: string } }

/** What a run by hand of a tool with this schema tells about the arguments. */
async function faultOf(fetch: Fetch, parameters: object, args: object): Promise<string> {
  const source_code = 'def evil(x: str) -> str:\n    """d"""\n    return x\n'
  const tool: Sent = await fetch('PUT', '/v1/tools', { source_code, json_schema: { name: 'evil', parameters } })
  assert.equal(tool.status, 200, JSON.stringify(tool.body))
  const agent: Sent = await fetch('POST', '/v1/agents', { name: 'a', model: MODEL })
  await fetch('PATCH', `/v1/agents/${agent.body.id}/tools/attach/${tool.body.id}`, {})
  const run: Sent = await fetch('POST', `/v1/agents/${agent.body.id}/tools/evil/run`, { args })
  return JSON.stringify(run.body)
}

type Fetch = Awaited<ReturnType<typeof serveFixture>>['fetch']

test('a schema of a caller that would be checked for ever is checked at once, or refuses the input', async (context) => {
  const { fetch } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
  const seconds = await secondsOf(async () => {
    const pattern = { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } }
    assert.match(await faultOf(fetch, pattern, { x: `${'a'.repeat(40)}!` }), /must match the pattern/)
    const levels = Array.from({ length: 30 }, (_, level) => {
      const next = { $ref: `#/$defs/l${level + 1}` }
      return [`l${level}`, { allOf: [next, next] }]
    })
    const doubling = { $ref: '#/$defs/l0', $defs: { ...Object.fromEntries(levels), l30: { type: 'string' } } }
    assert.match(await faultOf(fetch, doubling, { x: 'a' }), /takes too much work for this input/)
    const items = Array.from({ length: 20_000 }, (_, index) => ({ index }))
    const unique = { type: 'object', properties: { x: { uniqueItems: true } } }
    assert.match(await faultOf(fetch, unique, { x: [...items, { index: 0 }] }), /must not hold the same item twice/)
  })
  assert.ok(seconds < 5, `${seconds} s`)
})

test('a schema with a part that cannot be checked is refused when it is set, with the place of the part', async (context) => {
  const { fetch } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
  const source_code = 'def evil(x: str) -> str:\n    """d"""\n    return x\n'
  const parameters = { type: 'object', properties: { x: { type: 'string', pattern: '(a)\\1' } } }
  const created: Sent = await fetch('POST', '/v1/tools', { source_code, json_schema: { name: 'evil', parameters } })
  assert.equal(created.status, 400)
  assert.match(
    JSON.stringify(created.body),
    /json_schema\.parameters cannot be used: properties\.x\.pattern: .* refers back/,
  )
})

test('find -exec inside find -exec is not followed for ever: it asks', async () => {
  const seconds = await secondsOf(() => {
    for (const times of [22, 40, 9_000]) {
      const why = findDestruction('find -exec '.repeat(times))
      assert.match(why ?? '', /too complicated/, String(times))
    }
    assert.match(findDestruction('find . -exec sh -c "rm -rf x" \\;') ?? '', /deletes whole folders/)
    assert.equal(findDestruction('find . -exec grep -l x {} +'), undefined)
    assert.ok(findDestruction(`${'xargs '.repeat(16_000)}rm -rf x`))
    assert.ok(findDestruction(`${'env '.repeat(25_000)}rm -rf x`))
  })
  assert.ok(seconds < 5, `${seconds} s`)
})

test('the source of a tool is read in a time that grows with its length alone', async (context) => {
  const { fetch } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
  const sources = [
    { source_type: 'typescript', source_code: `${'\n'.repeat(80_000)}x` },
    { source_type: 'python', source_code: `def f(a: x${' '.repeat(80_000)}y):\n    pass` },
    { source_type: 'python', source_code: `def f(a: ${'Optional['.repeat(10_000)}x${']'.repeat(10_000)}):\n    pass` },
    {
      source_type: 'python',
      source_code: `def f(a):\n    """d\n\n    Args:\n    a:${'\n'.repeat(80_000)}b${' '.repeat(80_000)}c"""`,
    },
  ]
  const seconds = await secondsOf(async () => {
    for (const source of sources) assert.ok((await fetch('PUT', '/v1/tools', source)).status < 500)
  })
  assert.ok(seconds < 2, `${seconds} s`)
})

test('an agent file with many thousand calls and their results in reverse order is imported at once', async (context) => {
  const { client } = await serveFixture(context, { script: [{ text: 'Hi.' }] })
  const ids = Array.from({ length: caseCount(100_000) }, (_, index) => `call-${index}`)
  const calls = ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }))
  const returns = ids.toReversed().map((id) => ({ tool_call_id: id, status: 'success', func_response: 'r' }))
  const messages = [
    { id: 'message-0', role: 'user', content: 'go' },
    { id: 'message-1', role: 'assistant', content: '', tool_calls: calls },
    { id: 'message-2', role: 'tool', content: '', tool_returns: returns },
  ]
  const in_context_message_ids = messages.map(({ id }) => id)
  const content = JSON.stringify({
    agents: [{ id: 'agent-0', name: 'a', system: 's', messages, in_context_message_ids }],
  })
  const file = new File([content], 'agent.af', { type: 'application/json' })
  const seconds = await secondsOf(async () => {
    const { agent_ids } = await client.agents.importFile({ file, model: MODEL })
    assert.equal(agent_ids.length, 1)
  })
  // Reading the 18 MB of a hundred thousand takes most of it; it took 39 s.
  assert.ok(seconds < 15, `${seconds} s`)
})

test('the built-in model answers a sentence of a hundred thousand blanks at once', async () => {
  const reply = (text: string) => JSON.stringify(answerTo(text, []))
  const seconds = await secondsOf(() => {
    assert.match(reply(`run a${' '.repeat(100_000)}b`), /too long for me/)
    assert.match(reply(`run a${' '.repeat(9_000)}b`), /I will run that/)
  })
  assert.ok(seconds < 2, `${seconds} s`)
})
