import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { missingProgram } from '../harness/programs.ts'
import { KEY } from '../http/fixture-server-process.ts'
import { openChat, openConsole, say } from './fixture-console.ts'
import { mainThreadText, traceMainThread } from './main-thread.ts'

/** Figures for docs/performance.md. Nothing is asserted about them. */
const skip = missingProgram('chromium')
const PIECES = 5_000
const TABS = 200

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

const FRAMES = `
  let last = performance.now()
  let frames = []
  const next = (now) => {
    frames.push(now - last)
    last = now
    requestAnimationFrame(next)
  }
  requestAnimationFrame(next)
  globalThis.takeFrames = () => frames.splice(0)`

const framesOf = (page: Page) => page.evaluate(() => (globalThis as unknown as { takeFrames(): number[] }).takeFrames())

const textOf = (frames: readonly number[]): string =>
  `${frames.length} frames, median ${median(frames).toFixed(1)} ms, ${frames.filter((ms) => ms > 50).length} over 50 ms, the longest ${Math.round(Math.max(...frames))} ms`

test('first content from a cold cache is measured', { skip, timeout: 120_000 }, async (context) => {
  const { openPage, server } = await openConsole(context)
  const page = await openPage()
  const times: number[] = []
  for (let round = 0; round < 7; round++) {
    const fresh = await page.context().browser()!.newPage()
    await fresh.goto(server.url())
    await fresh.getByLabel('API key').waitFor()
    times.push(
      await fresh.evaluate(
        () => performance.getEntriesByName('first-contentful-paint').at(-1)?.startTime ?? Number.NaN,
      ),
    )
    await fresh.context().close()
  }
  context.diagnostic(`first content: ${Math.round(median(times))} ms (${times.map(Math.round).join(', ')})`)
})

test('frames while 5,000 pieces arrive at 100 a second are measured', { skip, timeout: 240_000 }, async (context) => {
  const { openPage, request, server } = await openConsole(context)
  const sentence = 'A **piece** of text with `code` in it. '
  const text = Array.from({ length: PIECES / 8 }, (_, index) => `${sentence}${index % 5 === 4 ? '\n\n' : ''}`).join('')
  server.simulator.script({
    answer: { text, pace: { everyMs: 10, charactersPerChunk: Math.ceil(text.length / PIECES) } },
  })
  await request('POST', '/v1/agents', { name: 'ada', model: 'openai/simulated-model', tools: [] })
  const page = await openPage()
  await openChat(page)
  await page.evaluate(FRAMES)
  // What the machine does to frames of a page at rest.
  await page.waitForTimeout(10_000)
  const atRest = await framesOf(page)
  const from = performance.now()
  const thread = await traceMainThread(page, async () => {
    await say(page, 'tell me everything')
    await page.locator('.said.assistant').first().waitFor()
    await page.locator('.turn-state').waitFor({ state: 'detached', timeout: 200_000 })
    await page.waitForTimeout(2_000)
  })
  const frames = await framesOf(page)
  context.diagnostic(`${PIECES} pieces in ${Math.round((performance.now() - from) / 1_000)} s: ${textOf(frames)}`)
  context.diagnostic(mainThreadText(thread))
  context.diagnostic(`at rest: ${textOf(atRest)}`)
})

/** Loaded by the server: on a signal it collects garbage and writes the size of its heap to a file. */
const HEAP_MODULE = (folder: string) => `
  import { renameSync, writeFileSync } from 'node:fs'
  import { setFlagsFromString } from 'node:v8'
  import { runInNewContext } from 'node:vm'
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc')
  writeFileSync('${folder}/pid', String(process.pid))
  process.on('SIGUSR2', () => {
    for (let round = 0; round < 4; round++) gc()
    writeFileSync('${folder}/next', String(process.memoryUsage().heapUsed))
    renameSync('${folder}/next', '${folder}/heap')
  })`

test('the heap of the server per idle tab is measured', { skip, timeout: 120_000 }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-heap-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'heap.mjs'), HEAP_MODULE(folder))
  const { server } = await openConsole(context, { NODE_OPTIONS: `--import=file://${folder}/heap.mjs` })
  async function heap(): Promise<number> {
    rmSync(join(folder, 'heap'), { force: true })
    process.kill(Number(readFileSync(join(folder, 'pid'), 'utf8')), 'SIGUSR2')
    while (!existsSync(join(folder, 'heap'))) await sleep(20)
    return Number(readFileSync(join(folder, 'heap'), 'utf8'))
  }
  const stop = new AbortController()
  const openTabs = async (count: number) => {
    const init = { headers: { authorization: `Bearer ${KEY}` }, signal: stop.signal }
    const tabs = Array.from({ length: count }, () => fetch(`${server.url()}/v1/changes`, init))
    for (const { body } of await Promise.all(tabs)) await body!.getReader().read()
  }
  // What the first ones load stays for all others.
  await openTabs(20)
  const before = await heap()
  await openTabs(TABS)
  const after = await heap()
  context.diagnostic(`heap per idle tab: ${((after - before) / TABS / 1_024).toFixed(1)} KB (${TABS} tabs)`)
  stop.abort()
})
