import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { newTerminal } from '../../src/workspaces/supervisor/terminal.ts'

const PATH = '/usr/local/bin:/usr/bin:/bin'

for (const [name, shell] of [
  ['bash', '/bin/bash'],
  ['the plain shell of a system without bash', ''],
] as const) {
  test(`${name} leaves its working directory and exports, and keeps its exit code`, (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-terminal-'))
    context.after(() => rmSync(folder, { recursive: true }))
    // A folder name that would break an unquoted script.
    const spool = join(folder, "it's a $(spool)")
    mkdirSync(join(spool), { recursive: true })
    const first = { cwd: folder, environment: { PATH, HOME: folder } }
    const open = () => newTerminal(spool, first, shell)
    const run = (command: string) => {
      const terminal = open()
      const stateFile = join(spool, 'state')
      const errand = { scriptFile: join(spool, 'script'), stateFile, tag: 800_000 }
      const { file, parameters, cwd, environment } = terminal.invocation(command, errand)
      const { status, stdout } = spawnSync(file, parameters, {
        cwd,
        env: environment,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      terminal.adopt(stateFile)
      return { status, stdout }
    }
    assert.equal(run("mkdir 'a b'; cd 'a b'; WORD='two words'; export WORD; exit 3").status, 3)
    assert.deepEqual(run('pwd; echo "$WORD"; env | grep HOLDFAST_STATE'), {
      status: 1,
      stdout: `${join(folder, 'a b')}\ntwo words\n`,
    })
    assert.equal(run(`# ${'x'.repeat(200_000)}\nexit 5`).status, 5)
    assert.equal(run('kill -9 $$').status, null)
    assert.equal(run('echo "$WORD"').stdout, 'two words\n')
  })
}
