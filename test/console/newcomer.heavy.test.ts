import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { missingProgram } from '../harness/programs.ts'
import { accessibilityFaults } from './accessibility.ts'
import { BROWSER_FLAGS, chromiumPath } from './fixture-console.ts'

const skip = missingProgram('chromium')
const root = join(import.meta.dirname, '../..')

/** `HOLDFAST_WALK=folder` keeps a picture of each screen in both themes and widths. */
const pictures = process.env.HOLDFAST_WALK
const LOOKS = [
  { theme: 'light', device: 'desktop', viewport: { width: 1200, height: 800 } },
  { theme: 'dark', device: 'desktop', viewport: { width: 1200, height: 800 } },
  { theme: 'light', device: 'phone', viewport: { width: 380, height: 740 } },
  { theme: 'dark', device: 'phone', viewport: { width: 380, height: 740 } },
] as const

/** The page and the screen in it never scroll sideways. */
const CUT_OFF = `[document.documentElement, ...document.querySelectorAll('main, .pane, .log, .card')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.tagName + '.' + one.className)`

type Started = { link: string; url: string; kill(): Promise<void> }

/** `npm start`, as a person types it, in a home that has never been used. */
async function npmStart(
  home: string,
  { port = 0, environment = {} }: { port?: number; environment?: Record<string, string> } = {},
): Promise<Started> {
  const env = { PATH: process.env.PATH!, HOME: home, HOLDFAST_HOME: join(home, '.holdfast'), ...environment }
  const child: ChildProcess = spawn('npm', ['start', '--', '--port', String(port)], { cwd: root, env, detached: true })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (text) => {
      output += text
      if (output.includes('Try it:')) resolve()
    })
    child.stderr!.on('data', (text) => {
      output += text
    })
    child.once('exit', () => reject(new Error(`npm start ended: ${output}`)))
  })
  const link = /Console (\S+)/.exec(output)?.[1] ?? ''
  return {
    link,
    url: /listens on (\S+)/.exec(output)![1]!,
    async kill() {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
      await exited
    },
  }
}

function newHome(context: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-newcomer-'))
  context.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 20 }))
  return home
}

/** A violation of the content security policy is an error in the console of the browser. */
function failOnFaults(page: Page, context: TestContext): void {
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (message) => {
    // Requests fail while the server is down, and 401 is an answer.
    if (message.type() === 'error' && !/^Failed to load resource|ERR_/.test(message.text())) faults.push(message.text())
  })
  context.after(() => assert.deepEqual(faults, []))
}

async function launch(context: TestContext): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: BROWSER_FLAGS })
  context.after(() => browser.close())
  return browser
}

/** Looks at the screen as it is, in both themes and widths: nothing is cut off, and axe finds nothing. */
async function look(page: Page, name: string, { isBusy = false } = {}): Promise<void> {
  for (const { theme, device, viewport } of isBusy ? [LOOKS[0]] : LOOKS) {
    await page.emulateMedia({ colorScheme: theme })
    await page.setViewportSize(viewport)
    await page.waitForTimeout(pictures ? 250 : 50)
    if (pictures) {
      mkdirSync(pictures, { recursive: true })
      await page.screenshot({ path: join(pictures, `${name}-${device}-${theme}.png`) })
    }
    const where = `${name}, ${device}, ${theme}`
    assert.deepEqual(await page.evaluate(CUT_OFF), [], `${where}: cut off at the side`)
    assert.deepEqual(await accessibilityFaults(page), [], where)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(LOOKS[0].viewport)
}

const screen = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name }).click()

const say = async (page: Page, text: string) => {
  const field = page.getByLabel('Message', { exact: true })
  await field.fill(text)
  await field.press('Enter')
}

const turnEnds = (page: Page) => page.locator('.turn-state').waitFor({ state: 'detached' })

test('a newcomer with the printed link alone makes an agent, talks to it, approves a command, and finds why a run failed', {
  skip,
  timeout: 580_000,
}, async (context) => {
  const home = newHome(context)
  const server = await npmStart(home)
  context.after(() => server.kill())
  const page = await (await launch(context)).newPage()
  page.setDefaultTimeout(60_000)
  failOnFaults(page, context)
  await page.goto(server.url)
  await page.getByLabel('API key').waitFor()
  await look(page, '01-sign-in')
  await page.goto(server.link)
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  await look(page, '02-inbox-first')
  for (const [name, wait] of [
    ['Chat', 'No agents yet.'],
    ['Runs', 'No runs'],
    ['Schedules', 'No schedules yet.'],
  ] as const) {
    await screen(page, name)
    await page.getByText(wait).first().waitFor()
    await look(page, `03-${name.toLowerCase()}-empty`)
  }
  await screen(page, 'Agents')
  await page.getByLabel('Name').waitFor()
  await look(page, '04-agents-empty')
  await page.getByLabel('Name').fill('Ada')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Ada' }).waitFor()
  await page.locator('.meter').first().waitFor()
  await look(page, '05-agent-context')
  await page.getByRole('link', { name: 'Talk to it' }).click()
  await page.getByText('No messages yet.').first().waitFor()
  await look(page, '06-chat-first')
  await say(page, 'hello')
  await page.locator('.said.assistant', { hasText: 'built-in model' }).waitFor()
  await turnEnds(page)
  await look(page, '07-chat-hello')
  await say(page, 'think about the sea')
  await page.locator('details.reasoning').waitFor()
  await turnEnds(page)
  await page.locator('details.reasoning summary').last().click()
  await say(page, 'what time is it in Tokyo?')
  await page.locator('.said.assistant', { hasText: 'It is' }).last().waitFor()
  await turnEnds(page)
  await page.locator('details.tool summary').last().click()
  await look(page, '08-chat-tool')
  await say(page, 'run rm -rf *')
  await page.locator('.chat .card').waitFor()
  await look(page, '09-chat-waiting')
  await screen(page, 'Inbox')
  await page.locator('.card').waitFor()
  await look(page, '10-inbox-waiting')
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Nothing waits for you.').waitFor()
  await screen(page, 'Chat')
  await page.locator('details.tool.success').last().waitFor()
  await turnEnds(page)
  await look(page, '11-chat-approved')
  await say(page, 'fail with bad key')
  await page.getByText('The last turn failed').waitFor()
  await look(page, '12-chat-failed')
  await screen(page, 'Runs')
  await page.getByRole('link', { name: 'fail with bad key' }).waitFor()
  await look(page, '13-runs')
  await page.getByRole('button', { name: /^Failed/ }).click()
  await page.getByRole('link', { name: 'fail with bad key' }).click()
  await page.locator('.waterfall tr.tone-bad').first().waitFor()
  await page.locator('.fault').first().waitFor()
  await look(page, '14-run-failed')
  await screen(page, 'Chat')
  await say(page, 'count to 40')
  await page.locator('details.tool.running', { hasText: /[2-9] of 40/ }).waitFor()
  await look(page, '15-chat-running', { isBusy: true })
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('The last turn was stopped.').waitFor()
  await look(page, '16-chat-stopped')
  await say(page, 'write a small web page and serve it')
  await page
    .locator('.said.assistant', { hasText: /serve|page/ })
    .last()
    .waitFor()
  await turnEnds(page)
  await screen(page, 'Agents')
  await page.getByRole('link', { name: 'Ada' }).waitFor()
  await look(page, '17-agents')
  await page.getByRole('link', { name: 'Ada' }).click()
  for (const tab of ['Memory', 'Tools', 'Model and settings', 'Workspace']) {
    await page.getByRole('link', { name: tab, exact: true }).click()
    await page.waitForTimeout(500)
    if (tab === 'Tools') await page.locator('.card summary').first().click()
    if (tab === 'Workspace') await page.locator('section.card').waitFor()
    await look(page, `18-agent-${tab.toLowerCase().replaceAll(' ', '-')}`)
  }
  await screen(page, 'Schedules')
  await page.getByText('Create a schedule').click()
  await page.getByLabel('Name').fill('Morning report')
  await page.getByLabel('Message to the agent').fill('what time is it?')
  await page.getByLabel('Cron expression').fill('0 8 * * mon-fri')
  await look(page, '19-schedule-create')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Morning report' }).waitFor()
  await page.getByRole('button', { name: 'Run now' }).click()
  await page.getByRole('cell', { name: 'fired, run now' }).waitFor()
  await look(page, '20-schedule')
  await screen(page, 'Schedules')
  await page.getByRole('cell', { name: 'active' }).waitFor()
  await look(page, '21-schedules')
  await screen(page, 'Health')
  await page.getByRole('button', { name: 'Check now' }).click()
  await page.getByText('Every invariant holds').waitFor()
  await look(page, '22-health')
  await page.evaluate("document.querySelector('main').scrollTop = 1e6")
  await look(page, '23-health-end')
  await screen(page, 'Settings')
  await page.getByText('Create a key').click()
  await look(page, '24-settings')
  await page.evaluate("document.querySelector('main').scrollTop = 1e6")
  await look(page, '25-settings-end')
  // Processes of a workspace outlive the server; they end with the agent.
  await screen(page, 'Agents')
  await page.getByRole('link', { name: 'Ada' }).click()
  await page.getByRole('link', { name: 'Model and settings' }).click()
  await page.getByRole('button', { name: 'Delete this agent' }).click()
  await page.getByRole('button', { name: 'Delete it' }).click()
  await page.getByText('No agents yet.').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  await page.getByLabel('API key').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.fault').waitFor()
  await look(page, '26-signed-out')
})

test('what goes wrong is said: a provider that is down, a server that was killed, and names of any length and direction', {
  skip,
  timeout: 580_000,
}, async (context) => {
  const home = newHome(context)
  const port = await freePort()
  // Nothing listens there.
  const environment = { OPENAI_API_KEY: 'sk-nothing', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }
  let server = await npmStart(home, { port, environment })
  context.after(() => server.kill())
  const page = await (await launch(context)).newPage()
  page.setDefaultTimeout(60_000)
  failOnFaults(page, context)
  await page.goto(server.link)
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  const make = async (name: string, model: string) => {
    await screen(page, 'Agents')
    const summary = page.getByText('Create an agent')
    await summary.waitFor()
    if (!(await page.getByLabel('Name').isVisible())) await summary.click()
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Model').fill(model)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('link', { name: 'Talk to it' }).waitFor()
  }
  await make('Grace', 'openai/gpt-5')
  await page.getByRole('link', { name: 'Talk to it' }).click()
  await say(page, 'are you there?')
  await page.locator('.turn-state', { hasText: 'attempt' }).waitFor()
  await look(page, '30-provider-down-chat', { isBusy: true })
  await screen(page, 'Runs')
  await page.getByRole('cell', { name: /retrying/ }).waitFor()
  await look(page, '31-provider-down-runs', { isBusy: true })
  await page.getByRole('link', { name: 'are you there?' }).click()
  await page.locator('.waterfall tr.tone-bad').first().waitFor()
  await look(page, '32-provider-down-run', { isBusy: true })
  await screen(page, 'Health')
  await page.getByRole('heading', { name: 'Providers' }).waitFor()
  await look(page, '33-provider-down-health', { isBusy: true })

  const long = `${'A very long name without end '.repeat(12)}${'x'.repeat(120)} \u202egnp.exe \u05e9\u05dc\u05d5\u05dd`
  await make(long, 'scripted/friendly')
  await page.locator('.meter').first().waitFor()
  await look(page, '34-long-name-agent')
  await page.getByRole('link', { name: 'Talk to it' }).click()
  await say(page, `send a postcard to ${'Ann-Marie '.repeat(15)} saying ${'https://example.org/'.repeat(30)}`)
  await page.locator('.chat .card').waitFor()
  await look(page, '35-long-name-chat')
  await screen(page, 'Inbox')
  await page.locator('.card').waitFor()
  await look(page, '36-long-name-inbox')
  await screen(page, 'Agents')
  await page.locator('tbody tr').nth(1).waitFor()
  await look(page, '37-long-name-agents')
  await screen(page, 'Runs')
  await page.locator('tbody tr').nth(1).waitFor()
  await look(page, '38-long-name-runs')
  await screen(page, 'Inbox')
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByText('Nothing waits for you.').waitFor()
  await look(page, '39-inbox-decided')

  await make('Count', 'scripted/friendly')
  await page.getByRole('link', { name: 'Talk to it' }).click()
  await say(page, 'count to 40')
  await page.locator('details.tool.running', { hasText: /[2-9] of 40/ }).waitFor()
  await page.getByLabel('Message', { exact: true }).fill('a draft that must not be lost')
  await server.kill()
  await page.getByText('No connection for').waitFor()
  await look(page, '40-killed-chat')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.fault').waitFor()
  await look(page, '41-killed-send')
  await screen(page, 'Runs')
  await page.locator('.fault').waitFor()
  await look(page, '42-killed-runs')
  server = await npmStart(home, { port, environment })
  await page.locator('.connection.lost').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'count to 40' }).click()
  await page.getByText('the process died here').first().waitFor()
  await look(page, '43-recovered-run', { isBusy: true })
})

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
