import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfiguration } from './configuration.ts'
import { configurationCheck } from './shown-settings.ts'

test('a check names what a restart would change, and what would keep the server from starting', async (context) => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  const environment = { HOLDFAST_HOME: home }
  const check = configurationCheck(environment, await readConfiguration(environment))
  assert.deepEqual(await check(), { faults: [], changed: [] })
  writeFileSync(join(home, 'config.yaml'), 'model: openai/gpt-5\n')
  assert.deepEqual(await check(), { faults: [], changed: ['general.model'] })
  writeFileSync(join(home, 'config.yaml'), 'modell: openai/gpt-5\napproval_by: nobody\n')
  const { faults, changed } = await check()
  assert.deepEqual(changed, [])
  assert.match(faults.join('\n'), /config\.yaml cannot be used[\s\S]*modell[\s\S]*approval_by/)
})
