import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { missingProgram } from '../harness/programs.ts'
import { serveTools } from './fixture-tools.ts'

/** Sources that never end by themselves, each with a tool of its own. */
const ENDLESS = {
  spins: 'while True: pass',
  prints: 'while True: print("y" * 1000)',
  waits: 'import time\n    time.sleep(100_000)',
}

/** More than what other conversations and the streams of a server take. */
const MOST_GROWTH = 300_000_000

test('while tools spin, print and wait without end, other conversations call their tools, and a cancel ends each of them', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const { client, bring, run } = await serveTools(context, { environment: { HOLDFAST_TOOL_SECONDS: '3600' } })
  await bring({ source_code: 'def double(number: int) -> int:\n    """Doubles."""\n    return 2 * number\n' })
  const before = process.memoryUsage().rss
  const begun: { agent: string; run: string }[] = []
  for (const [name, body] of Object.entries(ENDLESS)) {
    await client.tools.upsert({ source_code: `def ${name}():\n    """Does."""\n    ${body}\n` })
    const { id: agent } = await client.agents.create({ model: 'puppet/any', tools: [name], include_base_tools: false })
    const input = JSON.stringify({ tool: name, input: {} })
    begun.push({ agent, run: (await client.agents.messages.createAsync(agent, { input })).id })
  }
  const statuses = () => Promise.all(begun.map(async (one) => (await client.runs.retrieve(one.run)).status))
  for (let round = 1; round <= 3; round++)
    assert.equal((await run('double', { number: round })).output, String(2 * round))
  assert.deepEqual(
    new Set(await statuses()),
    new Set(['running']),
    'none of them ended before the others were answered',
  )
  assert.ok(process.memoryUsage().rss - before < MOST_GROWTH, 'the process of the server does not grow with them')
  for (const one of begun) await client.agents.messages.cancel(one.agent, { run_ids: [one.run] })
  while ((await statuses()).some((status) => status !== 'cancelled')) await sleep(50)
  assert.equal((await run('double', { number: 21 })).output, '42')
})
