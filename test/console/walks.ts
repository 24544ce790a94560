import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Locator } from 'playwright-core'
import { startTelegram } from '../../src/simulator/telegram/telegram-server.ts'
import { KEY } from '../http/fixture-server-process.ts'
import { accessibilityFaults } from './accessibility.ts'
import { type OpenConsole, openChat, say } from './fixture-console.ts'

const TOKEN = '4242:test-token'

async function becomes(field: Locator, value: string): Promise<void> {
  while ((await field.inputValue()) !== value) await sleep(20)
}

/** What a person does in the console. */
export function testWalks(
  database: string,
  { open: openConsole, skip }: { open: OpenConsole; skip: string | false },
): void {
  test(`${database}: a person signs in, talks, and sees what was said after a reload`, { skip }, async (context) => {
    const { makeAgent, openPage } = await openConsole(context)
    await makeAgent('ada')
    const page = await openPage()
    await openChat(page)
    await say(page, 'what time is it?')
    await page.locator('.said.assistant', { hasText: 'It is' }).waitFor()
    await page.locator('details.tool', { hasText: 'current_time' }).waitFor()
    await page.reload()
    await page.locator('.said.user', { hasText: 'what time is it?' }).waitFor()
    assert.equal(await page.locator('.said.user').count(), 1)
  })

  test(`${database}: an approval is decided in the inbox while the chat is open elsewhere, and both show it`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage } = await openConsole(context)
    await makeAgent('ada')
    const [chat, inbox] = [await openPage(), await openPage()]
    await openChat(chat)
    await say(chat, 'send a postcard to Ann saying hi')
    await chat.locator('.chat .card').waitFor()
    const card = inbox.locator('.card')
    await card.getByText('Ann', { exact: true }).waitFor()
    assert.match(await inbox.title(), /^\(1\) Inbox/)
    await card.getByText('Any key with the scope approve may decide.').waitFor()
    const other = await openPage()
    await other.locator('.card').waitFor()
    await card.getByRole('button', { name: 'Approve' }).click()
    await inbox.getByText('Nothing waits for you.').waitFor()
    await other.getByText('ada: approved elsewhere, with the key of the home.').waitFor()
    await chat.locator('.said.assistant', { hasText: 'sent' }).last().waitFor()
    await chat.locator('.chat .card').waitFor({ state: 'detached' })
  })

  test(`${database}: two people who decide the same request: the second is told what was decided`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, request } = await openConsole(context)
    await makeAgent('ada')
    const page = await openPage()
    await openChat(page)
    await say(page, 'send a postcard to Ann saying hi')
    await page.locator('.chat .card').waitFor()
    // The page of the second person has not been told yet: its button is still there.
    const [pending] = await request<{ run_id: string; tool_calls: { tool_call_id: string }[] }[]>(
      'GET',
      '/v1/approvals',
    )
    await page.route('**/v1/approvals', (route) => route.abort())
    await request('POST', `/v1/approvals/${pending!.run_id}`, {
      approvals: pending!.tool_calls.map(({ tool_call_id }) => ({ tool_call_id, verdict: 'deny', reason: 'no' })),
    })
    await page.getByRole('button', { name: 'Approve' }).click()
    await page
      .locator('.fault, .note', { hasText: /denied|decided|answered/i })
      .first()
      .waitFor()
  })

  test(`${database}: a key that is revoked in the middle of a message: nothing that was typed is lost, and the same page goes on after a new sign-in`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, request } = await openConsole(context)
    await makeAgent('ada')
    const { key, id } = await request<{ key: string; id: string }>('POST', '/v1/keys', {
      name: 'phone',
      scope: 'agent',
    })
    const page = await openPage({ key })
    await openChat(page)
    await page.getByLabel('Message', { exact: true }).fill('half a sentence')
    await request('DELETE', `/v1/keys/${id}`)
    await page.getByText('Your key is no longer accepted. Sign in again to go on.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByLabel('API key').fill(KEY)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('navigation', { name: 'Screens' }).waitFor()
    assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'half a sentence')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.said.user', { hasText: 'half a sentence' }).waitFor()
  })

  test(`${database}: a computer whose clock is wrong is told so, and sees the deadlines of the server`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, request } = await openConsole(context)
    const agent = await makeAgent('ada')
    await request('POST', `/v1/agents/${agent}/messages/async`, { input: 'send a postcard to Ann saying hi' })
    for (const [days, words] of [
      [-3, '3 d behind'],
      [30, '30 d ahead of'],
    ] as const) {
      const prepare = `const real = Date.now; Date.now = () => real() + ${days} * 86400000`
      const page = await openPage({ prepare })
      await page.locator('.card').waitFor()
      await page.getByText(new RegExp(`clock of this computer is (${words}|${Math.abs(days) - 1} d)`)).waitFor()
      await page.locator('.card', { hasText: /6 d left/ }).waitFor()
      assert.deepEqual(await accessibilityFaults(page), [])
    }
  })

  test(`${database}: a page that is older than its server says so, and what was typed is there after a reload`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, server } = await openConsole(context)
    await makeAgent('ada')
    const page = await openPage()
    await openChat(page)
    await page.getByLabel('Message', { exact: true }).fill('a draft')
    const session = await page.evaluate(async () => (await (await fetch('/v1/session')).json()) as object)
    await page.route('**/v1/session', (route) => route.fulfill({ json: { ...session, version: '99.0.0' } }))
    await server.kill()
    await page.getByText('No connection for').waitFor()
    await server.start()
    await page.getByText('The server is Holdfast 99.0.0 now').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Load the page again' }).click()
    await page.getByText('The server is Holdfast 99.0.0 now').waitFor({ state: 'detached' })
    await page.getByLabel('Message', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'a draft')
  })

  test(`${database}: a turn is stopped, and a tab goes on after kill -9 of the server without a reload`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, server } = await openConsole(context)
    await makeAgent('ada')
    const page = await openPage()
    await openChat(page)
    await say(page, 'count to 50')
    await page.locator('details.tool', { hasText: 'slow_count' }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('The last turn was stopped.').waitFor()
    await say(page, 'count to 8')
    await page.locator('details.tool.running', { hasText: /[2-7] of 8/ }).waitFor()
    await page.getByLabel('Message', { exact: true }).fill('a draft')
    await server.kill()
    await page.getByText('No connection for').waitFor()
    await server.start()
    await page
      .locator('.said.assistant', { hasText: 'Counted' })
      .or(page.locator('details.tool.success', { hasText: 'slow_count' }))
      .last()
      .waitFor()
    await page.locator('.connection.lost').waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'a draft')
  })

  test(`${database}: a phone shows the chat without a horizontal scroll, and no screen has a fault of accessibility in either theme`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage } = await openConsole(context)
    await makeAgent('ada')
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await openPage({ colorScheme, viewport: { width: 380, height: 740 } })
      await openChat(page)
      await say(page, colorScheme === 'light' ? 'send a postcard to Ann saying hi' : 'hello')
      await page.locator('.chat .card').waitFor()
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
      assert.deepEqual(await accessibilityFaults(page), [], `chat, ${colorScheme}`)
      await page.getByRole('link', { name: 'Inbox' }).click()
      await page.locator('.card').waitFor()
      assert.deepEqual(await accessibilityFaults(page), [], `inbox, ${colorScheme}`)
    }
  })

  test(`${database}: what a model or a tool says is text: nothing of it runs, loads or hides`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, request } = await openConsole(context)
    const agent = await makeAgent('<img src=x onerror=alert(1)>', ['write_note', 'read_notes'])
    const hostile = [
      '<script>window.hit = 1</script>',
      '<img src="http://127.0.0.1:1/x" onerror="window.hit = 1">',
      '[link](javascript:window.hit=1) ![x](http://127.0.0.1:1/y)',
      '<style>body{display:none}</style><form action=/v1/session><button>go</button></form>',
      '> '.repeat(3_000),
      `${'*a '.repeat(3_000)}${'['.repeat(3_000)}`,
      '1. '.repeat(3_000),
      `a${' '.repeat(90_000)}b`,
      '[ref]\n\n[ref]: javascript:window.hit=1',
      '```html\n<script>window.hit = 1</script>\n```',
      '<svg onload="window.hit=1"><a href="data:text/html,x">x</a></svg> \u202egnp.exe \u200b',
    ]
    await request('POST', `/v1/agents/${agent}/messages`, {
      messages: hostile
        .map((content) => ({ role: 'assistant', content }))
        .concat([{ role: 'user', content: 'hello' }] as never),
    })
    // In the arguments of a call, in its result, and in an answer.
    const note = '<script>window.hit = 1</script><img src="http://127.0.0.1:1/z" onerror="window.hit = 1">'
    await request('POST', `/v1/agents/${agent}/messages`, { input: `remember ${note}` })
    await request('POST', `/v1/agents/${agent}/messages`, { input: 'what do you remember' })
    const page = await openPage()
    const requested: string[] = []
    page.on('request', (one) => requested.push(one.url()))
    await openChat(page)
    const result = page.locator('details.tool', { hasText: 'read_notes' })
    await result.locator('summary').click()
    await result.locator('.result', { hasText: '<script>' }).waitFor()
    assert.equal(await page.evaluate(() => (globalThis as { hit?: number }).hit), undefined)
    assert.equal(await page.locator('.log script, .log style, .log form, .log svg, .log img').count(), 0)
    assert.deepEqual(
      await page
        .locator('.log a[href]')
        .evaluateAll((links) =>
          links.map((link) => link.getAttribute('href')).filter((href) => !/^(https?|#)/.test(href!)),
        ),
      [],
    )
    assert.deepEqual(
      requested.filter((one) => one.includes('127.0.0.1:1/')),
      [],
    )
  })

  test(`${database}: the reason of a failed run is found in its waterfall, and a run is cancelled from its page`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, request } = await openConsole(context)
    const agent = await makeAgent('ada')
    await request('POST', `/v1/agents/${agent}/messages/async`, { input: 'fail with bad key' })
    const page = await openPage()
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('button', { name: /^Failed/ }).click()
    await page.getByRole('link', { name: 'fail with bad key' }).click()
    await page.locator('.waterfall tr.tone-bad').first().waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await request('POST', `/v1/agents/${agent}/messages/async`, { input: 'count to 50' })
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('link', { name: 'count to 50' }).click()
    await page.getByRole('button', { name: 'Cancel this run' }).click()
    await page.locator('.facts .state-cancelled').waitFor()
  })

  test(`${database}: an agent is made without a document, its memory is edited, and nothing that was typed is lost to a change elsewhere`, {
    skip,
  }, async (context) => {
    const { openPage, request } = await openConsole(context)
    const page = await openPage()
    await page.getByRole('link', { name: 'Agents' }).click()
    // The form is open, because there is no agent yet.
    await page.getByLabel('Name').fill('ada')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: 'ada' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    const [agent] = await request<{ id: string }[]>('GET', '/v1/agents')
    await page.getByRole('link', { name: 'Memory' }).click()
    const block = await request<{ id: string }>('POST', '/v1/blocks', { label: 'human', value: 'nothing yet' })
    await request('PATCH', `/v1/agents/${agent!.id}/core-memory/blocks/attach/${block.id}`, {})
    const field = page.getByLabel('Content of human')
    await field.fill('my draft')
    await request('PATCH', `/v1/blocks/${block.id}`, { value: 'changed elsewhere' })
    await page.getByText('This block was changed elsewhere').waitFor()
    assert.equal(await field.inputValue(), 'my draft')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Undo the last change' }).click()
    await becomes(field, 'changed elsewhere')
    await page.getByText('History', { exact: true }).click()
    await page.getByRole('button', { name: 'Version 3' }).click()
    await page.locator('.diff .removed', { hasText: 'changed elsewhere' }).waitFor()
    await page.locator('.diff .added', { hasText: 'my draft' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [], 'history')
    await page.getByRole('button', { name: 'Version 1' }).click()
    await page.getByRole('button', { name: 'Restore version 1' }).click()
    await becomes(field, 'nothing yet')
    await page.getByRole('button', { name: 'Version 5' }).waitFor()
    await page.getByRole('link', { name: 'Model and settings' }).click()
    await page.getByLabel('Description').fill('half a sentence')
    await request('PATCH', `/v1/agents/${agent!.id}`, { system: 'Be brief.' })
    await becomes(page.getByLabel('System prompt'), 'Be brief.')
    assert.equal(await page.getByLabel('Description').inputValue(), 'half a sentence')
    for (const tab of ['Tools', 'Workspace', 'Memory', 'Model and settings']) {
      await page.getByRole('link', { name: tab, exact: true }).click()
      assert.deepEqual(await accessibilityFaults(page), [], tab)
    }
    await page.getByRole('button', { name: 'Delete this agent' }).click()
    await page.getByRole('button', { name: 'Delete it' }).click()
    await page.getByText('No agents yet.').waitFor()
  })

  test(`${database}: a failover is watched: who does not answer and why, then who answered, and both attempts in the run`, {
    skip,
  }, async (context) => {
    const { openPage, request, server } = await openConsole(context)
    server.simulator.script(
      { when: { path: '/limited/' }, answer: { error: 'rate-limit', headers: { 'retry-after': '2' } } },
      { answer: { text: 'The other one answers.' } },
    )
    await request('POST', '/v1/agents', {
      name: 'ada',
      model: 'limited/simulated-model',
      fallback: ['openai/simulated-model'],
    })
    const page = await openPage()
    await openChat(page)
    await say(page, 'who is there?')
    await page.locator('.said.assistant', { hasText: 'The other one answers.' }).waitFor()
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('link', { name: 'who is there?' }).click()
    await page.locator('.waterfall tr.tone-bad', { hasText: 'limited/simulated-model' }).first().waitFor()
    await page.locator('.waterfall tr', { hasText: 'openai/simulated-model' }).first().waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('link', { name: 'Health' }).click()
    await page
      .getByText(/limited/)
      .first()
      .waitFor()
  })

  test(`${database}: a person of a chat platform is paired, talks, and the conversation is in the console`, {
    skip,
  }, async (context) => {
    const telegram = await startTelegram({ tokens: [TOKEN] })
    context.after(() => telegram.close())
    const environment = { TELEGRAM_API_ROOT: telegram.url, TELEGRAM_BOT_TOKEN: TOKEN }
    const { makeAgent, openPage } = await openConsole(context, environment)
    await makeAgent('ada')
    const said = async (pattern: RegExp) => {
      const deadline = performance.now() + 60_000
      for (;;) {
        const found = telegram.messages.map(({ text }) => pattern.exec(text)).find(Boolean)
        if (found) return found
        const texts = telegram.messages.map(({ text }) => text).join(' | ')
        assert.ok(performance.now() < deadline, `${pattern} is not in: ${texts}`)
        await sleep(20)
      }
    }
    telegram.say('let me in')
    const [, code] = await said(/code is (\w{8})/)
    const page = await openPage()
    await page.getByRole('link', { name: 'Health' }).click()
    await page.locator('td.state-completed', { hasText: 'up' }).waitFor()
    await page.getByLabel('Code that the bot showed').fill(code!)
    await page.getByRole('button', { name: 'Let them talk' }).click()
    await page.getByText('may talk to telegram now').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    telegram.say('what time is it?')
    await said(/It is/)
    await page.getByRole('link', { name: 'Chat' }).click()
    await page.locator('.rows a', { hasText: 'what time is it?' }).click()
    await page.locator('.said.assistant', { hasText: 'It is' }).waitFor()
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByRole('button', { name: 'End it' }).click()
    await page.getByRole('button', { name: 'End it' }).waitFor({ state: 'detached' })
  })

  test(`${database}: a conversation is forked in the middle, and both go on`, { skip }, async (context) => {
    const { makeAgent, openPage } = await openConsole(context)
    await makeAgent('ada')
    const page = await openPage()
    await openChat(page)
    await say(page, 'what time is it?')
    await page.locator('.said.assistant', { hasText: 'It is' }).waitFor()
    const from = page.url()
    await page.getByRole('button', { name: 'Fork here' }).last().click()
    await page.waitForURL((url) => url.href !== from)
    await page.locator('.said.user', { hasText: 'what time is it?' }).waitFor()
    await say(page, 'hello from the fork')
    await page.locator('.said.assistant').nth(1).waitFor()
    await page.goto(from)
    await page.locator('.said.user', { hasText: 'what time is it?' }).waitFor()
    assert.equal(await page.getByText('hello from the fork').count(), 0)
  })

  test(`${database}: a schedule is created, run by hand, paused and resumed, and the page follows what another client does`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, request } = await openConsole(context)
    await makeAgent('ada')
    const page = await openPage()
    await page.getByRole('link', { name: 'Schedules' }).click()
    await page.getByText('No schedules yet.').waitFor()
    await page.getByText('Create a schedule').click()
    await page.getByLabel('Name').fill('report')
    await page.getByLabel('Message to the agent').fill('what time is it?')
    await page.getByLabel('Cron expression').fill('61 * * * *')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.locator('.fault', { hasText: 'minute' }).waitFor()
    await page.getByLabel('Cron expression').fill('0 18 * * mon-fri')
    assert.deepEqual(await accessibilityFaults(page), [], 'create')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: 'report' }).waitFor()
    await page.locator('.plain-list li').nth(4).waitFor()
    await page.getByText('No instant has come yet.').waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('cell', { name: 'fired, run now' }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('It is paused').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [], 'schedule')
    const [schedule] = await request<{ id: string }[]>('GET', '/v1/schedules')
    await request('POST', `/v1/schedules/${schedule!.id}/resume`)
    await page.getByText('It is paused').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Schedules' }).click()
    await page.getByRole('cell', { name: 'active' }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [], 'schedules')
    await page.getByRole('link', { name: 'Run', exact: true }).click()
    await page.getByRole('heading', { name: 'What happened' }).waitFor()
  })

  test(`${database}: an operator sees what is wrong, checks the data, makes a key and revokes it`, {
    skip,
  }, async (context) => {
    const { makeAgent, openPage, server } = await openConsole(context)
    await makeAgent('ada')
    const page = await openPage()
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByRole('heading', { name: 'Providers' }).waitFor()
    await page.getByRole('button', { name: 'Check now' }).click()
    await page.getByText('Every invariant holds').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByText('Create a key').click()
    await page.getByLabel('Name').fill('phone')
    await page.getByLabel('Scope').selectOption('approve')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const key = (await page.locator('.note code').textContent()) ?? ''
    assert.deepEqual(await accessibilityFaults(page), [])
    assert.ok(!((await page.locator('main').textContent()) ?? '').includes('sk-simulated'), 'secrets are not shown')
    const phone = await openPage({ key, viewport: { width: 380, height: 740 } })
    await phone.getByRole('link', { name: 'Settings' }).click()
    await phone.getByText('are for administrators').waitFor()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke it' }).click()
    await page.getByRole('cell', { name: 'revoked' }).waitFor()
    // Its stream of changes has ended: it needs no click.
    await phone.getByText('Your key is no longer accepted.').waitFor()
    assert.equal((await server.fetch('/v1/agents', { key })).status, 401)
  })
}
