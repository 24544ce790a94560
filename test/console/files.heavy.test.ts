import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { killSupervisor } from '../workspaces/kill-supervisor.ts'
import { accessibilityFaults } from './accessibility.ts'
import { openConsole } from './fixture-console.ts'

/** Looked at by hand, if it is set. */
const folder = process.env.HOLDFAST_LOOK

test('a person walks through the files of a workspace, opens text, downloads bytes, and starts one that sleeps', {
  skip: missingProgram('chromium') || missingProgram('bwrap'),
  timeout: 300_000,
}, async (context) => {
  const { makeAgent, openPage, request } = await openConsole(context)
  const agent = await makeAgent('ada', ['write_file'])
  await request('POST', `/v1/agents/${agent}/messages`, { input: 'write a small program' })
  const [workspace] = await request<{ folder: string }[]>('GET', `/v1/workspaces?agent_id=${agent}`)
  const files = join(workspace!.folder, 'files')
  mkdirSync(join(files, 'data'))
  writeFileSync(join(files, 'data', '<img src=x onerror=alert(1)>.txt'), '<script>alert(1)</script>\n')
  writeFileSync(join(files, 'data', 'bytes.bin'), Buffer.from([0, 1, 2, 255]))
  writeFileSync(join(files, 'data', 'large.bin'), Buffer.alloc(5 * 1024 * 1024))
  const page = await openPage()
  const look = async (name: string) => {
    assert.deepEqual(await accessibilityFaults(page), [], name)
    if (folder === undefined) return
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1_000, 390]) {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme })
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), fullPage: true })
      }
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1_000, height: 800 })
  }
  await page.goto(`${page.url().split('#')[0]}#/agents/${agent}`)
  await page.getByRole('link', { name: 'Workspace', exact: true }).click()
  const card = page.locator('section.card', { hasText: 'Files' })
  await card.getByRole('button', { name: 'primes.mjs' }).click()
  await card.locator('pre.plain', { hasText: 'for' }).waitFor()
  await look('files')
  await card.getByRole('button', { name: 'data/' }).click()
  await card.getByRole('cell', { name: 'too large to open here' }).waitFor()
  await card.getByRole('button', { name: '<img' }).click()
  await card.locator('pre.plain', { hasText: '<script>alert(1)</script>' }).waitFor()
  await card.getByRole('button', { name: 'bytes.bin' }).click()
  await card.getByText('This file is not text.').waitFor()
  const download = page.waitForEvent('download')
  await card.getByRole('button', { name: 'Download' }).click()
  assert.deepEqual([...readFileSync(await (await download).path())], [0, 1, 2, 255])
  await look('files-below')
  await card.getByRole('button', { name: 'workspace', exact: true }).click()
  await card.getByRole('button', { name: 'data/' }).waitFor()

  await killSupervisor(workspace!.folder)
  await page.reload()
  await card.getByText('This workspace is asleep.').waitFor()
  await look('files-asleep')
  await card.getByRole('button', { name: 'Start it and show its files' }).click()
  await card.getByRole('button', { name: 'primes.mjs' }).waitFor()
})
