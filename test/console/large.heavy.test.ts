import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { openChat, openConsole, say } from './fixture-console.ts'

const skip = missingProgram('chromium')
const ROWS = 100_000

const idOf = (prefix: string, end = 0) => `printf('${prefix}-%08x-0000-4000-8000-00000000000${end}', n)`

/** Copies one row of a table many times, with ids of their own, in the home of a stopped server. */
function multiply(
  home: string,
  { table, prefix, changed }: { table: string; prefix: string; changed?: Record<string, string> },
) {
  const database = new DatabaseSync(join(home, 'holdfast.db'))
  const columns = (database.prepare(`select name from pragma_table_info('${table}')`).all() as { name: string }[])
    .map(({ name }) => name)
    .filter((name) => name !== 'number')
  const values = columns.map((name) => changed?.[name] ?? (name === 'id' ? idOf(prefix) : `"${name}"`))
  database.exec(`with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${ROWS})
    insert into ${table} (${columns.join(', ')})
    select ${values.join(', ')} from counter, (select * from ${table} order by number limit 1) as one`)
  database.close()
}

const measured = (context: TestContext, what: string, from: number) =>
  context.diagnostic(`${what}: ${Math.round(performance.now() - from)} ms`)

test('lists of 100,000 runs, agents and conversations open, page, and are searched', {
  skip,
  timeout: 300_000,
}, async (context) => {
  const { makeAgent, openPage, request, server } = await openConsole(context)
  const agent = await makeAgent('ada')
  await request('POST', `/v1/agents/${agent}/messages`, { input: 'hello' })
  await server.stop()
  multiply(server.home, { table: 'runs', prefix: 'run' })
  multiply(server.home, { table: 'agents', prefix: 'agent', changed: { name: `'agent ' || n` } })
  multiply(server.home, { table: 'conversations', prefix: 'conv', changed: { is_default: '0' } })
  // Every agent has a default one.
  multiply(server.home, {
    table: 'conversations',
    prefix: 'conv',
    changed: { id: idOf('conv', 1), agent_id: idOf('agent') },
  })
  await server.start()
  const page = await openPage()

  let from = performance.now()
  await page.getByRole('link', { name: 'Runs' }).click()
  await page.locator('tbody tr').nth(49).waitFor()
  measured(context, 'the first page of 100,001 runs', from)
  await page.getByRole('button', { name: 'Show older runs' }).click()
  await page.locator('tbody tr').nth(99).waitFor()
  assert.equal(await page.locator('tbody tr').count(), 100)
  // What happens meanwhile is added at the top, and the rows behind stay.
  await request('POST', `/v1/agents/${agent}/messages`, { input: 'something new' })
  await page.getByRole('link', { name: 'something new' }).waitFor()
  assert.ok((await page.locator('tbody tr').count()) >= 100)

  from = performance.now()
  await page.getByRole('link', { name: 'Agents' }).click()
  await page
    .getByRole('link', { name: /^agent / })
    .nth(99)
    .waitFor()
  measured(context, 'the first page of 100,001 agents', from)
  await page.getByRole('button', { name: 'Show more agents' }).click()
  await page.locator('tbody tr').nth(199).waitFor()
  from = performance.now()
  await page.getByLabel('Find').fill('agent 77777')
  await page.getByRole('link', { name: 'agent 77777' }).waitFor()
  measured(context, 'one of 100,001 agents by name', from)

  from = performance.now()
  await page.goto(`${server.url()}/#/chat?agent=${agent}`)
  await page.locator('.rows a').nth(49).waitFor()
  measured(context, 'the first page of 100,001 conversations of an agent', from)
  await page.getByRole('button', { name: 'Show older conversations' }).click()
  await page.locator('.rows a').nth(99).waitFor()
})

test('a message of 2 MB is sent and shown, and the page takes the next one', {
  skip,
  timeout: 240_000,
}, async (context) => {
  const { makeAgent, openPage, request } = await openConsole(context)
  await makeAgent('ada')
  const page = await openPage()
  await openChat(page)
  const text = `begin ${'ä < & word '.repeat(170_000)} end`
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.said.user', { hasText: 'begin' }).or(page.locator('.fault')).first().waitFor()
  if ((await page.locator('.fault').count()) > 0) {
    // Refused with the reason, and nothing that was typed is lost.
    context.diagnostic((await page.locator('.fault').first().textContent()) ?? '')
    assert.equal((await page.getByLabel('Message', { exact: true }).inputValue()).length, text.length)
    await page.getByLabel('Message', { exact: true }).fill('')
  }
  await page.locator('.turn-state').waitFor({ state: 'detached' })
  await say(page, 'what time is it?')
  await page.locator('.said.assistant', { hasText: 'It is' }).last().waitFor()
  await page.reload()
  await page.locator('.said.assistant', { hasText: 'It is' }).last().waitFor()
  const runs = await request<{ error: string | null }[]>('GET', '/v1/holdfast/runs')
  context.diagnostic(JSON.stringify(runs.map(({ error }) => error)))
})

test('a run of 10,000 calls is shown in its chat and in its page, in parts', {
  skip,
  timeout: 580_000,
}, async (context) => {
  const { openPage, request, server } = await openConsole(context, { HOLDFAST_MAX_STEPS: '200' })
  const calls = Array.from({ length: 200 }, () => ({ name: 'current_time', arguments: {} }))
  server.simulator.script({ when: { attempt: 51 }, answer: { text: 'All done.' } }, { answer: { calls } })
  const { id } = await request<{ id: string }>('POST', '/v1/agents', {
    name: 'ada',
    model: 'openai/simulated-model',
    tools: ['current_time'],
  })
  await request('POST', `/v1/agents/${id}/messages/async`, { input: 'work' })
  const page = await openPage()
  await openChat(page)
  await page.locator('.said.assistant', { hasText: 'All done.' }).waitFor({ timeout: 400_000 })
  await page.locator('.turn-state').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Runs' }).click()
  let from = performance.now()
  await page.getByRole('link', { name: 'work', exact: true }).click()
  await page.locator('.waterfall tr').nth(299).waitFor()
  measured(context, 'the page of a run of 10,000 calls', from)
  from = performance.now()
  await page.getByRole('button', { name: /^Show 300 of/ }).click()
  await page.locator('.waterfall tr').nth(599).waitFor()
  measured(context, 'the next part', from)
})
