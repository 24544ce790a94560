import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { commandForm, runnable } from '../../src/cli/program-name.ts'

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))

test('a hint names a command that works where the process was started', () => {
  const form = (source: string, started: string, environment = {}) =>
    commandForm({ source, started, environment })('runs show RUN')
  const checkout = 'file:///repo/src/cli/program-name.ts'
  const dist = 'file:///app/node_modules/holdfast/dist/chunk.js'
  assert.equal(form(checkout, '/repo/src/main.ts'), 'npm run holdfast -- runs show RUN')
  assert.equal(form(dist, '/usr/local/bin/holdfast'), 'holdfast runs show RUN')
  assert.equal(form(dist, '/app/node_modules/.bin/holdfast'), 'npx holdfast runs show RUN')
  assert.equal(form(dist, '/tmp/x/main.js', { npm_command: 'exec' }), 'npx holdfast runs show RUN')
  assert.equal(commandForm({ source: checkout, started: '', environment: {} })('serve'), 'npm start')
})

test('a message of another room is rewritten where it is printed', () => {
  assert.equal(
    runnable('Set KEY, or run `holdfast auth add openai`. `holdfast` is its name.'),
    'Set KEY, or run `npm run holdfast -- auth add openai`. `holdfast` is its name.',
  )
})

/** Code without comments, templates of `simulate --help` and completion scripts, which a shell runs by name. */
const codeOf = (file: string): string =>
  readFileSync(join(SOURCE, file), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')

test('no message of the CLI has a command of its own form; other rooms write `holdfast …` in backticks', () => {
  const files = globSync('**/*.ts', { cwd: SOURCE }).filter((file) => !file.endsWith('.test.ts'))
  const named = /holdfast (chat|run|runs|serve|agents|approvals|auth|providers|models|doctor|keys|users|demo)\b/
  for (const file of files) {
    if (file === 'cli/completion-scripts.ts' || file === 'cli/program-name.ts' || file.startsWith('cli/command-page'))
      continue
    for (const line of codeOf(file).split('\n')) {
      assert.doesNotMatch(line, /npm (run|start)/, `${file}: ${line}`)
      const [found] = named.exec(line) ?? []
      if (found === undefined) continue
      // A Problem is rewritten by printError.
      assert.ok(line.includes(`\`${found}`), `${file} names a command that cannot be rewritten: ${line.trim()}`)
    }
  }
})
