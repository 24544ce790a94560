import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { PLATFORM_NAMES } from '../../src/core/gateway/platforms.ts'
import { treeOf, wordsOf } from './fixture-commands.ts'
import { holdfast, newHome } from './holdfast.ts'

/** Commands that wait for a signal, change this machine or take long: their `--json` has tests of their own. */
const NOT_RUN = new Set([
  'serve',
  'simulate',
  ...PLATFORM_NAMES.map((platform) => `simulate ${platform}`),
  'demo',
  'chat',
  'run',
  'memory edit',
  'auth rotate-key',
  'workspaces open',
  'backup',
  'restore',
])

/** A home with one agent, copied for each command. */
const template = (async () => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-template-'))
  after(() => rmSync(home, { recursive: true, force: true }))
  assert.equal((await holdfast(['agents', 'create', 'ada'], { home })).code, 0)
  return home
})()

describe('--json of every command', { concurrency: 4 }, () => {
  for (const { name, command } of treeOf()) {
    if (NOT_RUN.has(name)) continue
    test(`${name}: one JSON value on stdout, or an error as JSON on stderr`, async (context) => {
      const home = newHome(context)
      cpSync(await template, home, { recursive: true })
      // An example with `--follow` waits for a signal too.
      const args = wordsOf(command.examples.findLast((example) => !example.includes('--follow'))!)
      const location = { home, cwd: home, input: 'sk-test-0123456789' }
      const { code, stdout, stderr } = await holdfast([...args, '--json'], location)
      if (stdout !== '') JSON.parse(stdout)
      if (code === 0) return assert.notEqual(stdout, '', `${args.join(' ')} printed nothing`)
      if (stdout !== '') return
      const [last = ''] = stderr.trim().split('\n').slice(-1)
      const { error } = JSON.parse(last) as { error: { kind: string; message: string; exit_code: number } }
      assert.notEqual(error.kind, 'bug', stderr)
      assert.equal(error.exit_code, code)
      assert.ok(error.message.length > 10)
    })
  }
})
