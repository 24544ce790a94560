import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Problem } from '../core/problem.ts'
import { readConfigFile } from './config-file.ts'
import { CONFIG_SCHEMA } from './config-schema.ts'

function homeWith(context: TestContext, text?: string): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  if (text !== undefined) writeFileSync(join(home, 'config.yaml'), text)
  return home
}

const mistakesOf = async (context: TestContext, text: string): Promise<string> => {
  try {
    await readConfigFile(homeWith(context, text))
  } catch (fault) {
    assert.ok(fault instanceof Problem && fault.kind === 'invalid', String(fault))
    assert.match(fault.message, /config\.yaml cannot be used\./)
    return fault.message
  }
  return assert.fail('it was taken')
}

test('no file and an empty file say nothing', async (context) => {
  const nothing = { fallback: [], providers: {}, limits: {}, workspaces: {} }
  assert.deepEqual(await readConfigFile(homeWith(context)), nothing)
  assert.deepEqual(await readConfigFile(homeWith(context, '')), nothing)
  assert.deepEqual(await readConfigFile(homeWith(context, '# later\n')), nothing)
})

test('every documented key is taken', async (context) => {
  const config = await readConfigFile(
    homeWith(
      context,
      `model: openai/gpt-4.1
fallback: [anthropic/claude-sonnet-4-5, house/qwen3]
providers:
  openai: { strategy: round_robin, timeout_ms: 60000, stall_timeout_ms: 1000, headers: { x-team: a } }
  house:
    base_url: http://127.0.0.1:8000/v1
    dialect: anthropic
    windows: { qwen3: 32768 }
    aggregator: true
    oauth: { token_url: a, device_code_url: b, exchange_url: c, account_url: d, client_id: e, scope: f }
`,
    ),
  )
  assert.equal(config.model, 'openai/gpt-4.1')
  assert.deepEqual(config.fallback, ['anthropic/claude-sonnet-4-5', 'house/qwen3'])
  assert.equal(config.providers.openai?.strategy, 'round_robin')
  assert.deepEqual(config.providers.house?.windows, { qwen3: 32_768 })
})

test('all mistakes are told at once, each with its place', async (context) => {
  const told = await mistakesOf(
    context,
    'fallbck: []\nproviders:\n  openai: { timeout_ms: soon }\n  house: { base_url: "house:8000" }\n',
  )
  for (const place of [/fallbck/, /at providers\/openai\/timeout_ms/, /at providers\/house\/base_url/])
    assert.match(told, place)
})

test('what is no YAML, no mapping or no model handle is told in a sentence', async (context) => {
  assert.match(await mistakesOf(context, 'providers: [\n'), /line 2/)
  assert.match(await mistakesOf(context, 'hello\n'), /at the top/)
  assert.match(await mistakesOf(context, 'fallback: [gpt-4o]\n'), /"gpt-4o" is no model handle/)
  assert.match(await mistakesOf(context, 'model: gpt-4o\n'), /"gpt-4o" is no model handle/)
  assert.match(await mistakesOf(context, 'embedding: near\n'), /"near" is no model handle/)
})

test('the published schema is the one the program checks with', () => {
  const published = readFileSync(new URL('../../docs/config.schema.json', import.meta.url), 'utf8')
  assert.deepEqual(JSON.parse(published), CONFIG_SCHEMA)
})
