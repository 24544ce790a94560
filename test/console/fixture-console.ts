import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { startPostgres } from '../harness/postgres.ts'
import { KEY, openServer, type Server } from '../http/fixture-server-process.ts'

/** A real server process and a real browser. */
export type ConsoleFixture = {
  server: Server
  /** `prepare`: a script that runs before those of the page. Signs in with the key, and fails the test if the page violates its policy or throws. */
  openPage(options?: BrowserContextOptions & { key?: string; prepare?: string }): Promise<Page>
  /** Makes an agent of the scripted model. */
  makeAgent(name: string, tools?: string[]): Promise<string>
  request<T>(method: string, path: string, body?: unknown): Promise<T>
}

export const BROWSER_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export type OpenConsole = (context: TestContext, environment?: Record<string, string>) => Promise<ConsoleFixture>

export const openConsole: OpenConsole = async (context, environment = {}) => {
  const server = await openServer(environment)
  const browser: Browser = await chromium.launch({ executablePath: chromiumPath(), args: BROWSER_FLAGS })
  context.after(async () => {
    await browser.close()
    await server.close()
  })
  const faults: string[] = []
  context.after(() => assert.deepEqual(faults, []))

  async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const init: RequestInit = { method }
    if (body !== undefined) init.body = JSON.stringify(body)
    const response = await server.fetch(path, init)
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.clone().text()}`)
    return (await response.json()) as T
  }

  return {
    server,
    request,
    makeAgent: async (name, tools = ['current_time', 'slow_count', 'send_postcard']) =>
      (await request<{ id: string }>('POST', '/v1/agents', { name, model: 'scripted/friendly', tools })).id,
    async openPage({ key = KEY, prepare, ...options } = {}) {
      const page = await (await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options })).newPage()
      // A busy machine starts a page in many seconds.
      page.setDefaultTimeout(60_000)
      if (prepare !== undefined) await page.addInitScript(prepare)
      page.on('pageerror', (fault) => faults.push(`the page throws: ${fault.message}`))
      page.on('console', (message) => {
        // Requests fail while the server is down, and 401 and 409 are answers.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
          faults.push(message.text())
      })
      await page.goto(server.url())
      await page.getByLabel('API key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('navigation', { name: 'Screens' }).waitFor()
      return page
    },
  }
}

/** The same with the server's rows on PostgreSQL. */
export const openConsoleOnPostgres: OpenConsole = async (context, environment) => {
  const postgres = await startPostgres()
  if ('skip' in postgres) throw new Error(postgres.skip)
  context.after(() => postgres.stop())
  return openConsole(context, Object.assign({ DATABASE_URL: postgres.url }, environment))
}

/** The newest conversation of the newest agent. */
export async function openChat(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Chat' }).click()
  await page.getByLabel('Message', { exact: true }).waitFor()
}

export async function say(page: Page, text: string): Promise<void> {
  const field = page.getByLabel('Message', { exact: true })
  await field.fill(text)
  await field.press('Enter')
}

export function chromiumPath(): string {
  for (const folder of (process.env.PATH ?? '').split(':'))
    if (existsSync(join(folder, 'chromium'))) return join(folder, 'chromium')
  throw new Error('no chromium in PATH')
}
