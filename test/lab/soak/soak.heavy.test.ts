import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runSoak } from './soak.ts'

test('a short soak has traffic of every kind, violates no invariant and draws its curves', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-soak-report-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const { samples, checks, totals, stuck, faults, verdict } = await runSoak({ minutes: 5 / 60, seed: 7, folder })

  assert.deepEqual([stuck, faults], [[], []])
  assert.deepEqual(
    checks.flatMap((check) => check.violations),
    [],
  )
  assert.ok(checks.length >= 2 && checks.at(-1)!.runs > 20, `${checks.at(-1)!.runs} runs were checked`)
  assert.ok(totals.conversations > 5 && totals.watched > 5 && totals.endings.end_turn! > 20, JSON.stringify(totals))
  assert.ok(samples.length > 0 && samples.every(({ rss, heap }) => rss > 0 && heap > 0))
  assert.equal(verdict.isGood, true, JSON.stringify(verdict.findings))

  const page = readFileSync(join(folder, 'soak.html'), 'utf8')
  assert.equal(page.match(/<svg /g)?.length, 8)
  assert.doesNotMatch(page, /NaN|undefined|Infinity/)
  assert.deepEqual(JSON.parse(readFileSync(join(folder, 'soak.json'), 'utf8')).verdict, verdict)
})
