import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
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
    writeFileSync(
      join(folder, 'holdfast'),
      `#!/bin/sh\n[ "$1" = __complete ] || exec echo ran "$@"\nexec '${process.execPath}' '${MAIN}' "$@"\n`,
    )
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

  test('fish completes commands, options and agents', { skip: missingProgram('fish') }, async (t) => {
    const home = newHome(t)
    assert.equal((await holdfast(['agents', 'create', 'ada'], { home })).code, 0)
    writeFileSync(join(home, 'script'), (await holdfast(['completion', 'fish'], { home })).stdout)
    const complete = (line: string) => {
      const asked = `source ${home}/script; complete -C '${line}'`
      const { stdout, stderr, status } = spawnSync('fish', ['--no-config', '-c', asked], {
        encoding: 'utf8',
        cwd: home,
        env: { PATH: `${binaryIn(home)}:${process.env.PATH}`, HOME: home, HOLDFAST_HOME: home },
      })
      assert.equal(status, 0, stderr)
      return stdout.trim().split('\n')
    }
    assert.deepEqual(complete('holdfast agen'), ['agents'])
    assert.deepEqual(complete('holdfast agents ex'), ['export'])
    assert.deepEqual(complete('holdfast agents show '), ['ada'])
    assert.deepEqual(complete('holdfast run --agent a'), ['ada'])
    assert.ok(complete('holdfast runs list --').includes('--limit'))
    assert.ok(complete('holdfast restore ').includes('script'), 'files where no word is known')
  })

  for (const [shell, start, read] of [
    ['bash', 'bash --norc --noprofile -i', 'source ./script'],
    ['zsh', 'zsh -f -i', 'autoload -U compinit; compinit -u -D; source ./script'],
  ] as const)
    test(`${shell} completes what is typed at a terminal`, {
      skip: missingProgram(shell) || missingProgram('script'),
    }, async (t) => {
      const home = newHome(t)
      assert.equal((await holdfast(['agents', 'create', 'ada'], { home })).code, 0)
      writeFileSync(join(home, 'script'), (await holdfast(['completion', shell], { home })).stdout)
      const env = { PATH: `${binaryIn(home)}:${process.env.PATH}`, HOME: home, HOLDFAST_HOME: home, TERM: 'dumb' }
      const terminal = spawn('script', ['-qefc', start, '/dev/null'], { cwd: home, env })
      t.after(() => terminal.kill('SIGKILL'))
      let output = ''
      terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
      const shows = async (text: string) => {
        const deadline = Date.now() + 60_000
        while (!output.includes(text)) {
          assert.ok(Date.now() < deadline, `${text} did not appear: ${output}`)
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
      }
      terminal.stdin.write(`PS1='> '; ${read}; echo rea''dy\n`)
      await shows('ready')
      terminal.stdin.write('holdfast agen\tex\ta\t\n')
      await shows('ran agents export ada')
      terminal.stdin.write('\x03exit\n')
    })
})
