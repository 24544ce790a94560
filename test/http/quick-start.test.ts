import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { KEY, serveFor } from './fixture-server-process.ts'

const SCRIPT = fileURLToPath(new URL('../../examples/quick-start.ts', import.meta.url))

test('the quick start runs with only a URL and a key', async (t) => {
  const { url } = await serveFor(t)
  const env = { PATH: process.env.PATH, LETTA_BASE_URL: url(), LETTA_API_KEY: KEY }
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT], { env, timeout: 60_000 })
  assert.match(stdout, /agent agent-/)
  assert.match(stdout, /blocking: Hello!/)
  assert.equal(stdout.match(/it stopped: end_turn/g)?.length, 2)
  assert.match(stdout, /(NotFoundError|Error): 404/)
  assert.equal(stdout.match(/run-\S+ completed/g)?.length, 2)
})
