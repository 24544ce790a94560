import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missingProgram } from '../harness/programs.ts'
import { holdfast, newHome } from './holdfast.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

describe('completion', () => {
  /** A folder with `holdfast`, for the PATH of a shell. */
  function binaryIn(home: string): string {
    const folder = join(home, 'bin')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'holdfast'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
    chmodSync(join(folder, 'holdfast'), 0o755)
    return folder
  }

  test('bash completes commands, options and agents', { skip: missingProgram('bash') }, async (t) => {
    const home = newHome(t)
    assert.equal((await holdfast(['agents', 'create', 'ada'], { home })).code, 0)
    const script = (await holdfast(['completion', 'bash'], { home })).stdout
    const complete = (...words: string[]) => {
      const list = words.map((word) => `'${word}'`).join(' ')
      const asked = `${script}\nCOMP_WORDS=(holdfast ${list}); COMP_CWORD=${words.length}; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`
      const { stdout, stderr, status } = spawnSync('bash', ['-c', asked], {
        encoding: 'utf8',
        env: { PATH: `${binaryIn(home)}:${process.env.PATH}`, HOLDFAST_HOME: home },
      })
      assert.equal(status, 0, stderr)
      return stdout.trim().split('\n')
    }
    assert.deepEqual(complete('agen'), ['agents'])
    assert.deepEqual(complete('agents', 'ex'), ['export'])
    assert.deepEqual(complete('agents', 'show', ''), ['ada'])
    assert.deepEqual(complete('run', '--agent', 'a'), ['ada'])
    assert.ok(complete('runs', 'list', '--').includes('--limit'))
  })

  for (const shell of ['zsh', 'fish'] as const)
    test(`the script for ${shell} is valid`, { skip: missingProgram(shell) }, async (t) => {
      const home = newHome(t)
      writeFileSync(join(home, 'script'), (await holdfast(['completion', shell], { home })).stdout)
      assert.equal(spawnSync(shell, ['-n', join(home, 'script')]).status, 0)
    })
})
