import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { missingProgram } from '../harness/programs.ts'
import { openChat, openConsole, say } from './fixture-console.ts'

const skip = missingProgram('chromium')

/** Runs before the page: what is still to happen in it, and how it is told that it is hidden. Headless tabs are never hidden. */
const WATCH = `
  const waiting = new Map()
  const watch = (start, stop, name, repeats) => {
    const [begin, end] = [globalThis[start].bind(globalThis), globalThis[stop].bind(globalThis)]
    globalThis[start] = (task, ...rest) => {
      const id = begin((...given) => { if (!repeats) waiting.delete(name + id); return task(...given) }, ...rest)
      waiting.set(name + id, String(task).slice(0, 80))
      return id
    }
    globalThis[stop] = (id) => { waiting.delete(name + id); end(id) }
  }
  watch('setTimeout', 'clearTimeout', 'timeout ', false)
  watch('setInterval', 'clearInterval', 'interval ', true)
  watch('requestAnimationFrame', 'cancelAnimationFrame', 'frame ', false)
  globalThis.waitingTasks = () => [...waiting.values()]
  let isHidden = false
  Object.defineProperty(document, 'hidden', { get: () => isHidden })
  globalThis.hide = (value) => { isHidden = value; document.dispatchEvent(new Event('visibilitychange')) }
`

type Watched = { waitingTasks(): string[]; hide(value: boolean): void }

const waitingTasks = (page: Page) => page.evaluate(() => (globalThis as unknown as Watched).waitingTasks())
const hide = (page: Page, isHidden: boolean) =>
  page.evaluate((value) => (globalThis as unknown as Watched).hide(value), isHidden)

test('a hidden tab comes to rest: no request is open and no timer runs; looked at again, it shows what happened', {
  skip,
  timeout: 240_000,
}, async (context) => {
  const { makeAgent, openPage, request } = await openConsole(context)
  const agent = await makeAgent('ada')
  const page = await openPage({ prepare: WATCH })
  const open = new Set<string>()
  page.on('request', (one) => open.add(one.url()))
  page.on('requestfinished', (one) => open.delete(one.url()))
  page.on('requestfailed', (one) => open.delete(one.url()))
  await page.reload()
  await openChat(page)
  await say(page, 'count to 20')
  await page.locator('details.tool.running').waitFor()
  await hide(page, true)
  const deadline = performance.now() + 60_000
  for (;;) {
    const left = [...open, ...(await waitingTasks(page))]
    if (left.length === 0) break
    assert.ok(performance.now() < deadline, left.join('\n'))
    await page.waitForTimeout(100)
  }
  // Nothing is left that could wake it: it does not hear of this.
  await request('POST', `/v1/agents/${agent}/messages`, { input: 'hello from elsewhere' })
  assert.deepEqual([...open], [])
  assert.equal(await page.getByText('hello from elsewhere').count(), 0)
  await hide(page, false)
  await page.locator('.said.user', { hasText: 'hello from elsewhere' }).waitFor()
  await page.locator('.said.assistant').last().waitFor()
})

test('a person who wants it is notified in a hidden tab of what waits', { skip, timeout: 120_000 }, async (context) => {
  const { makeAgent, openPage, request } = await openConsole(context)
  const agent = await makeAgent('ada')
  const said = `globalThis.notified = []
    globalThis.Notification = class {
      static permission = 'default'
      static requestPermission() { this.permission = 'granted'; return Promise.resolve('granted') }
      constructor(title, { body }) { globalThis.notified.push(body) }
    }`
  const page = await openPage({ prepare: WATCH + said })
  await page.getByRole('button', { name: 'Notify me when something waits' }).click()
  await page.getByRole('button', { name: 'Notify me when something waits' }).waitFor({ state: 'detached' })
  await hide(page, true)
  await request('POST', `/v1/agents/${agent}/messages/async`, { input: 'send a postcard to Ann saying hi' })
  await page.waitForFunction(() => (globalThis as unknown as { notified: string[] }).notified.length > 0)
  assert.match(await page.title(), /^\(1\) Inbox/)
})
