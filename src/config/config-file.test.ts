import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfigFile } from './config-file.ts'

function accepted(text: string) {
  const { config, faults } = parseConfigFile(text)
  assert.deepEqual(faults, [])
  return config
}

function faultsOf(text: string): string[] {
  const { faults } = parseConfigFile(text)
  assert.notEqual(faults.length, 0, 'the file was accepted')
  for (const fault of faults) assert.match(fault, /^config\.yaml: .* at line \d+(, column \d+)?$/)
  return faults.map((fault) => fault.replace('config.yaml: ', ''))
}

test('an empty file sets nothing', () => {
  assert.deepEqual(accepted(''), {})
  assert.deepEqual(accepted('# later\n'), {})
})

test('every documented key is accepted', () => {
  const config = accepted(
    `model: openai/gpt-4.1
fallback: [anthropic/claude-sonnet-4-5, house/qwen3]
embedding: house/near
embed_messages: false
providers:
  openai: { strategy: round_robin, timeout_ms: 60000, stall_timeout_ms: 1000, headers: { x-team: a } }
  house:
    base_url: http://127.0.0.1:8000/v1
    dialect: anthropic
    windows: { qwen3: 32768 }
    aggregator: true
    oauth: { token_url: a, device_code_url: b, exchange_url: c, account_url: d, client_id: e, scope: f }
workspaces: { sandbox: local, folder: ~/work, disk_mb: 64, memory_mb: 512, processes: 16, egress: ["*.example.com"] }
`,
  )
  assert.equal(config.model, 'openai/gpt-4.1')
  assert.deepEqual(config.fallback, ['anthropic/claude-sonnet-4-5', 'house/qwen3'])
  assert.equal(config.providers?.openai?.strategy, 'round_robin')
  assert.deepEqual(config.providers?.house?.windows, { qwen3: 32_768 })
  assert.equal(config.workspaces?.sandbox, 'local')
  assert.deepEqual(config.workspaces?.egress, ['*.example.com'])
})

test('a misspelled key is reported with its line and the key that was probably meant', () => {
  assert.deepEqual(faultsOf('modle: openai/gpt-4.1\n'), ['unknown key "modle" (did you mean "model"?) at line 1'])
  assert.deepEqual(faultsOf('providers:\n  openai:\n    oauth: { token_ur1: x }\n'), [
    'unknown key "token_ur1" in providers.openai.oauth (did you mean "token_url"?) at line 3',
  ])
})

test('all mistakes are reported at once, in the order of the file, each with its key, its value and its line', () => {
  const text = `fallbck: []
providers:
  openai: { timeout_ms: soon }
  house:
    base_url: "house:8000"
    windows:
      qwen3: 0.5
limits:
  body_bytes: many
workspaces:
  sandbox: none
  disk_mb: 1
  egress:
    - example.com
    - 10.0.0.1
  folder: work
  cpu: 1
`
  assert.deepEqual(faultsOf(text), [
    'unknown key "fallbck" (did you mean "fallback"?) at line 1',
    'providers.openai.timeout_ms must be a whole number from 1 to 86400000, not "soon", at line 3',
    'providers.house.base_url must be a URL that begins with http:// or https://, not "house:8000", at line 5',
    'providers.house.windows.qwen3 must be a whole number, at least 1, not 0.5, at line 7',
    'limits.body_bytes must be a whole number from 1024 to 1073741824, not "many", at line 9',
    'workspaces.sandbox must be "bubblewrap" or "local", not "none", at line 11',
    'workspaces.disk_mb must be a whole number from 16 to 1048576, not 1, at line 12',
    'workspaces.egress[1] must be a domain such as example.com, *.example.com or example.com:8443, not "10.0.0.1", at line 15',
    'workspaces.folder must be an absolute path that begins with / or ~/, not "work", at line 16',
    'unknown key "cpu" in workspaces at line 17',
  ])
})

test('invalid YAML, a missing mapping and an invalid model handle are each reported in one sentence', () => {
  assert.match(faultsOf('providers: [\n')[0]!, /line 2/)
  assert.deepEqual(faultsOf('hello\n'), ['the top level must be a mapping, not "hello", at line 1'])
  assert.deepEqual(faultsOf('limits:\n'), ['limits must be a mapping, not empty, at line 1'])
  assert.deepEqual(faultsOf('limits: [1]\n'), ['limits must be a mapping, not a list, at line 1'])
  const mustBeHandle = (key: string, value: string) => [
    `${key} must be a model handle, written provider/model, not "${value}", at line 1`,
  ]
  assert.deepEqual(faultsOf('fallback: [gpt-4o]\n'), mustBeHandle('fallback[0]', 'gpt-4o'))
  assert.deepEqual(faultsOf('model: gpt-4o\n'), mustBeHandle('model', 'gpt-4o'))
  assert.deepEqual(faultsOf('model: openai/\n'), mustBeHandle('model', 'openai/'))
  assert.deepEqual(faultsOf('embedding: /near\n'), mustBeHandle('embedding', '/near'))
})

test('a mistake in a YAML alias is reported with the line of its anchor', () => {
  const text = 'providers:\n  a: &slow\n    timeout_ms: 0\n  b: *slow\n'
  assert.deepEqual(
    faultsOf(text).map((fault) => fault.match(/line \d+/)![0]),
    ['line 3', 'line 3'],
  )
})

test('the value of a header is never in a message', () => {
  assert.deepEqual(faultsOf('providers: { house: { headers: { x-key: 123456 } } }'), [
    'providers.house.headers.x-key must be text in quotes, at line 1',
  ])
})

test('aliases that multiply are refused with a sentence, and quickly', () => {
  const levels = Array.from({ length: 12 }, (_, index) => {
    const items = index === 0 ? 'x' : `*a${index - 1}, *a${index - 1}, *a${index - 1}, *a${index - 1}`
    return `a${index}: &a${index} [${items}]`
  })
  assert.match(faultsOf(`${levels.join('\n')}\n`).join(), /^write out what its aliases repeat/)
})
