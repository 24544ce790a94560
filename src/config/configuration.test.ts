import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { DEFAULT_LIMITS } from '../core/limits.ts'
import { Problem } from '../core/problem.ts'
import type { Environment } from '../ports/environment.ts'
import { homeOf, readConfiguration } from './configuration.ts'

const MEGABYTE = 1024 * 1024
const NO_FILE = join(tmpdir(), 'holdfast-home-that-does-not-exist')

const read = (environment: Environment) => readConfiguration({ HOLDFAST_HOME: NO_FILE, ...environment })

function homeWith(context: TestContext, text: string): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  writeFileSync(join(home, 'config.yaml'), text)
  return home
}

async function problemOf(environment: Environment): Promise<Problem> {
  try {
    await read(environment)
  } catch (error) {
    assert.ok(error instanceof Problem)
    assert.equal(error.kind, 'invalid')
    for (const fault of error.details.faults as string[]) assert.ok(error.message.includes(fault))
    return error
  }
  return assert.fail('the configuration was accepted')
}

const faultsOf = async (environment: Environment) => (await problemOf(environment)).details.faults as string[]

test('an empty environment gives the defaults', async () => {
  const expected = {
    durability: 'strict',
    maxRunningTurns: 64,
    watchdogSeconds: 30,
    maxSteps: 50,
    maxDurationMs: 3_600_000,
  }
  for (const environment of [{}, { HOLDFAST_DURABILITY: '', DATABASE_URL: ' ', HOLDFAST_MAX_STEPS: '' }]) {
    const { settings, general, providers, limits, workspaces } = await read(environment)
    const { home, approvalTtlMs, streamsKeptMs, cache, ...rest } = settings
    assert.equal(home, NO_FILE)
    assert.equal(approvalTtlMs, 7 * 86_400_000)
    assert.equal(streamsKeptMs, 7 * 86_400_000)
    assert.deepEqual({ ...cache, bytes: 0 }, { entries: 128, bytes: 0, idleMs: 3_600_000 })
    assert.ok(cache.bytes > 0 && cache.bytes < totalmem())
    assert.deepEqual(rest, expected)
    assert.deepEqual(general, {
      model: 'scripted/friendly',
      fallback: [],
      embed_messages: true,
      approval_by: 'any-key',
    })
    assert.deepEqual(providers, {})
    assert.deepEqual(limits, DEFAULT_LIMITS)
    assert.deepEqual(workspaces, {
      folder: join(NO_FILE, 'workspaces'),
      containment: 'bubblewrap',
      quota: { diskBytes: 1_024 * MEGABYTE, memoryBytes: 1_024 * MEGABYTE, processes: 128 },
      egress: [],
      toolSeconds: 180,
    })
  }
})

test('the home is ~/.holdfast unless the environment names another', async () => {
  assert.match(homeOf({}), /\.holdfast$/)
  assert.match(homeOf({ HOLDFAST_HOME: ' ' }), /\.holdfast$/)
  const { settings } = await readConfiguration({ HOLDFAST_HOME: ' /srv/holdfast ' })
  assert.equal(settings.home, '/srv/holdfast')
})

test('every setting of the process can come from the environment', async () => {
  const { settings } = await read({
    HOLDFAST_DURABILITY: 'relaxed',
    DATABASE_URL: 'postgres://ada@localhost/holdfast',
    HOLDFAST_MAX_RUNNING_TURNS: '8',
    HOLDFAST_WATCHDOG_SECONDS: '5',
    HOLDFAST_MAX_STEPS: '5',
    HOLDFAST_MAX_RUN_MINUTES: '0.5',
    HOLDFAST_APPROVAL_DAYS: '2',
    HOLDFAST_STREAM_DAYS: '30',
    HOLDFAST_CACHE_ENTRIES: '0',
    HOLDFAST_CACHE_MB: '64',
    HOLDFAST_CACHE_IDLE_MINUTES: '5',
  })
  assert.deepEqual(settings, {
    home: NO_FILE,
    durability: 'relaxed',
    databaseUrl: 'postgres://ada@localhost/holdfast',
    maxRunningTurns: 8,
    watchdogSeconds: 5,
    maxSteps: 5,
    maxDurationMs: 30_000,
    approvalTtlMs: 2 * 86_400_000,
    streamsKeptMs: 30 * 86_400_000,
    cache: { entries: 0, bytes: 64 * MEGABYTE, idleMs: 300_000 },
  })
})

test('every key of the top level of config.yaml can come from the environment', async () => {
  const { general } = await read({
    HOLDFAST_MODEL: 'openai/gpt-4.1',
    HOLDFAST_FALLBACK: 'anthropic/claude-sonnet-4-5, house/qwen3,',
    HOLDFAST_EMBEDDING: 'openai/text-embedding-3-small',
    HOLDFAST_EMBED_MESSAGES: 'false',
  })
  assert.deepEqual(general, {
    model: 'openai/gpt-4.1',
    fallback: ['anthropic/claude-sonnet-4-5', 'house/qwen3'],
    embedding: 'openai/text-embedding-3-small',
    embed_messages: false,
    approval_by: 'any-key',
  })
})

test('the keys of a provider can come from the environment, under the name config.yaml gives it', async (context) => {
  const home = homeWith(context, 'providers: { my_house.gpu: { timeout_ms: 5, windows: { qwen3: 32768 } } }')
  const { providers } = await readConfiguration({
    HOLDFAST_HOME: home,
    HOLDFAST_PROVIDER_MY_HOUSE_GPU_TIMEOUT_MS: '1000',
    HOLDFAST_PROVIDER_MY_HOUSE_GPU_OAUTH_SCOPE: 'all',
    HOLDFAST_PROVIDER_OPENAI_RESPONSES_STALL_TIMEOUT_MS: '2000',
    HOLDFAST_PROVIDER_TIMEOUT_MS: '3000',
  })
  assert.deepEqual(providers, {
    'my_house.gpu': { timeout_ms: 1000, windows: { qwen3: 32_768 }, oauth: { scope: 'all' } },
    'openai-responses': { stall_timeout_ms: 2000 },
  })
})

test('the environment wins over config.yaml, and config.yaml over the defaults', async (context) => {
  const home = homeWith(
    context,
    `embedding: house/near
limits: { body_bytes: 2048, json_depth: 10 }
workspaces: { sandbox: local, disk_mb: 100, memory_mb: 200, egress: [example.com] }
`,
  )
  const fromFile = await readConfiguration({ HOLDFAST_HOME: home })
  assert.deepEqual(fromFile.workspaces.egress, ['example.com'])
  assert.equal(fromFile.limits.bodyBytes, 2048)
  assert.equal(fromFile.general.embedding, 'house/near')

  const { general, limits, workspaces } = await readConfiguration({
    HOLDFAST_HOME: home,
    HOLDFAST_EMBEDDING: 'openai/near',
    HOLDFAST_LIMIT_BODY_BYTES: '4096',
    HOLDFAST_WORKSPACE_DISK_MB: '50',
    HOLDFAST_EGRESS: ' Example.org, *.example.net:8443,',
    HOLDFAST_WORKSPACES: '~/work',
  })
  assert.equal(general.embedding, 'openai/near')
  assert.deepEqual(limits, { ...DEFAULT_LIMITS, bodyBytes: 4096, jsonDepth: 10 })
  assert.equal(workspaces.containment, 'local')
  assert.deepEqual(workspaces.quota, { diskBytes: 50 * MEGABYTE, memoryBytes: 200 * MEGABYTE, processes: 128 })
  assert.deepEqual(workspaces.egress, ['example.org', '*.example.net:8443'])
  assert.equal(workspaces.folder, join(homedir(), 'work'))
  const contained = await readConfiguration({ HOLDFAST_HOME: home, HOLDFAST_SANDBOX: 'bubblewrap' })
  assert.equal(contained.workspaces.containment, 'bubblewrap')
})

test('all mistakes are reported at once, each with its name, the allowed values and its value', async () => {
  const faults = await faultsOf({
    HOLDFAST_DURABILITY: 'sometimes',
    HOLDFAST_MAX_RUNNING_TURNS: '0',
    HOLDFAST_MAX_STEPS: '2.5',
    HOLDFAST_MAX_RUN_MINUTES: 'long',
    HOLDFAST_APPROVAL_DAYS: '-1',
    HOLDFAST_CACHE_MB: 'Infinity',
    HOLDFAST_MODEL: 'gpt-4o',
    HOLDFAST_EMBED_MESSAGES: 'yes',
    HOLDFAST_LIMIT_BODY_BYTES: 'lots',
    HOLDFAST_LIMIT_CONNECTIONS: '0',
    HOLDFAST_LIMIT_JSON_DEPTH: '8',
    HOLDFAST_PROVIDER_OPENAI_BASE_URL: 'openai',
  })
  assert.deepEqual(faults, [
    'HOLDFAST_DURABILITY must be "strict" or "relaxed", not "sometimes"',
    'HOLDFAST_MAX_RUNNING_TURNS must be a whole number from 1 to 10000, not 0',
    'HOLDFAST_MAX_STEPS must be a whole number from 1 to 10000, not 2.5',
    'HOLDFAST_MAX_RUN_MINUTES must be a number above 0, up to 10080, not "long"',
    'HOLDFAST_APPROVAL_DAYS must be a number above 0, up to 366, not -1',
    'HOLDFAST_CACHE_MB must be a number above 0, up to 1000000, not Infinity',
    'HOLDFAST_MODEL must be a model handle, written provider/model, not "gpt-4o"',
    'HOLDFAST_EMBED_MESSAGES must be true or false, not "yes"',
    'HOLDFAST_LIMIT_BODY_BYTES must be a whole number from 1024 to 1073741824, not "lots"',
    'HOLDFAST_LIMIT_CONNECTIONS must be a whole number from 1 to 1000000, not 0',
    'HOLDFAST_PROVIDER_OPENAI_BASE_URL must be a URL that begins with http:// or https://, not "openai"',
  ])
})

test('every invalid workspace setting is reported at once, with the allowed values', async () => {
  const wrong = {
    HOLDFAST_SANDBOX: 'docker',
    HOLDFAST_WORKSPACE_DISK_MB: 'lots',
    HOLDFAST_WORKSPACE_MEMORY_MB: '1',
    HOLDFAST_WORKSPACE_PROCESSES: '2.5',
    HOLDFAST_EGRESS: 'example.com,http://example.org,10.0.0.1,*,localhost',
    HOLDFAST_WORKSPACES: 'work',
  }
  const { message, details } = await problemOf(wrong)
  assert.equal(details.faults?.length, 9)
  for (const name of Object.keys(wrong)) assert.ok(message.includes(name), name)
  assert.match(message, /HOLDFAST_EGRESS must be a domain such as example\.com.*, not "http:\/\/example\.org"/)
})

test('a database that is not PostgreSQL is refused without showing the password', async () => {
  for (const url of ['mysql://ada:secret@localhost/x', 'secret']) {
    const [fault, ...others] = await faultsOf({ DATABASE_URL: url })
    assert.match(fault!, /^DATABASE_URL must look like postgres:/)
    assert.ok(!fault!.includes('secret'))
    assert.deepEqual(others, [])
  }
})

test('mistakes of config.yaml and of the environment are reported together, a line for each', async (context) => {
  const home = homeWith(context, 'modle: openai/gpt-4.1\n')
  const { message } = await problemOf({ HOLDFAST_HOME: home, HOLDFAST_MAX_STEPS: 'x' })
  assert.deepEqual(message.split('\n'), [
    `${join(home, 'config.yaml')} cannot be used. The environment has settings that cannot be used.`,
    '  config.yaml: unknown key "modle" (did you mean "model"?) at line 1',
    '  HOLDFAST_MAX_STEPS must be a whole number from 1 to 10000, not "x"',
  ])
})
