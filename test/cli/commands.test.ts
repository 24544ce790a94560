import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commandPage } from '../../src/cli/command-page.ts'
import { treeOf, wordsOf } from './fixture-commands.ts'
import { holdfast, newHome } from './holdfast.ts'

test('every command has a sentence, an example that parses, and --json', async () => {
  for (const { name, command } of treeOf()) {
    assert.match(command.description(), /^[A-Z].*\.$/, `${name} has no sentence`)
    assert.ok(command.examples.length > 0, `${name} has no example`)
    assert.ok(
      command.options.some(({ long }) => long === '--json'),
      `${name} has no --json`,
    )
    for (const { flags, description } of command.options) assert.notEqual(description, '', `${name} ${flags}`)
    for (const example of command.examples) {
      const words = wordsOf(example)
      const found = treeOf().find((one) => one.name === name)!.command
      let wasCalled = false
      // The whole tree parses the words; only the action is replaced.
      found.action(() => {
        wasCalled = true
      })
      let root = found
      while (root.parent) root = root.parent as typeof found
      await root.parseAsync(words, { from: 'user' })
      assert.ok(wasCalled, `the example "${example}" of ${name} runs another command`)
    }
  }
})

test('the page of commands has every command with its examples', () => {
  const page = commandPage()
  for (const { name, command } of treeOf()) {
    assert.ok(page.includes(`**\`holdfast ${name}`), name)
    for (const example of command.examples) assert.ok(page.includes(`holdfast ${example}`), example)
  }
})

describe('--json', { concurrency: 4 }, () => {
  test('a wrong option and a mistyped command are errors as JSON, too', async (context) => {
    const home = newHome(context)
    for (const args of [['agents', 'list', '--nope'], ['agents', 'delet'], ['runs', 'show'], ['agnets']]) {
      const { code, stdout, stderr } = await holdfast([...args, '--json'], { home })
      assert.equal(code, 2, stderr)
      assert.equal(stdout, '')
      assert.equal(JSON.parse(stderr).error.exit_code, 2)
    }
  })

  test('a chat with --json is one line for each turn', async (context) => {
    const home = newHome(context)
    const input = 'roll a die\nroll two dice\n'
    const { code, stdout, stderr } = await holdfast(['chat', '--json'], { home, input })
    assert.equal(code, 0, stderr)
    const lines = stdout.trim().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).stop_reason),
      ['end_turn', 'end_turn'],
    )
  })
})
