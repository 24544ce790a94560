import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startMatrix } from '../../src/simulator/matrix/matrix-server.ts'
import { startTelegram } from '../../src/simulator/telegram/telegram-server.ts'
import { holdfast, newHome } from './holdfast.ts'

test('`gateway add telegram` checks the token, writes the account beside what is there, and says what to do next', async (context) => {
  const telegram = await startTelegram({ tokens: ['4242:right'] })
  context.after(() => telegram.close())
  const home = newHome(context)
  const file = join(home, 'config.yaml')
  const add = (input: string, ...flags: string[]) =>
    holdfast(['gateway', 'add', 'telegram', '--api-root', telegram.url, '--token-stdin', ...flags], { home, input })
  writeFileSync(file, '# mine\nmodel: demo/script # stays\n')

  const wrong = await add('4242:wrong')
  assert.deepEqual([wrong.code, wrong.stdout], [2, ''], wrong.stderr)
  assert.match(wrong.stderr, /The account was not added, because telegram refused it: Unauthorized/)
  assert.equal(readFileSync(file, 'utf8'), '# mine\nmodel: demo/script # stays\n')

  const added = await add('4242:right\n')
  assert.deepEqual([added.code, added.stderr], [0, ''])
  assert.match(added.stdout, /^@holdfast_test_bot is the account "telegram" in .*config\.yaml\./)
  assert.match(added.stdout, /Start the server: `.*serve`/)
  assert.match(added.stdout, /https:\/\/t\.me\/holdfast_test_bot/)
  assert.doesNotMatch(added.stdout, /4242:right/)
  const text = readFileSync(file, 'utf8')
  assert.match(text, /^# mine\nmodel: demo\/script # stays\n/)
  assert.match(text, /gateway:\n {2}telegram:\n {4}platform: telegram\n {4}api_root: .*\n {4}token: "?4242:right"?\n$/)
  assert.equal(statSync(file).mode & 0o077, 0)

  const again = await add('4242:right')
  assert.equal(again.code, 4)
  assert.match(again.stderr, /has an account "telegram" already\. Choose another --name/)
  const second = await add('4242:right', '--name', 'team', '--json')
  assert.equal(JSON.parse(second.stdout).account, 'team')
  assert.match(readFileSync(file, 'utf8'), / {2}telegram:\n[\s\S]* {2}team:\n/)
})

test('`gateway add matrix` needs the address of the homeserver, and the account may have groups by their ids', async (context) => {
  const matrix = await startMatrix({ token: 'right' })
  context.after(() => matrix.close())
  const home = newHome(context)
  const add = (input: string, ...flags: string[]) =>
    holdfast(['gateway', 'add', 'matrix', '--token-stdin', ...flags], { home, input })
  const without = await add('right')
  assert.match(without.stderr, /Address of the homeserver.*nothing was added\. Add --api-root/)
  const wrong = await add('wrong', '--api-root', matrix.url)
  assert.match(wrong.stderr, /does not know the access token/)
  const added = await add('right', '--api-root', matrix.url)
  assert.match(added.stdout, /^@holdfast:simulated\.example is the account "matrix"/)
  const groups =
    '    groups:\n      "!room1:simulated.example": { allow: ["@ada:simulated.example"] }\n      C024BE7LH: {}\n'
  appendFileSync(join(home, 'config.yaml'), groups)
  const shown = await holdfast(['gateway', '--json'], { home })
  assert.deepEqual([shown.code, shown.stderr], [0, ''])
  appendFileSync(join(home, 'config.yaml'), '      the-team: {}\n')
  assert.match(
    (await holdfast(['gateway'], { home })).stderr,
    /such as 1001, U024BE7LH, 100000000000001001 or @ada:example\.org/,
  )
})

test('`gateway add` names what is wrong before it asks for a token', async (context) => {
  const home = newHome(context)
  const refused = async (args: string[], pattern: RegExp) => {
    const { code, stderr } = await holdfast(['gateway', 'add', ...args], { home, input: '1:abc' })
    assert.notEqual(code, 0)
    assert.match(stderr, pattern)
  }
  await refused(['icq', '--token-stdin'], /does not speak "icq"\. It speaks telegram/)
  await refused(['telegram', '--token-stdin', '--agent', 'missing'], /missing/)
  await refused(['telegram'], /no terminal to read the token from\. Pipe it in and add --token-stdin/)
  writeFileSync(join(home, 'config.yaml'), 'gateway:\n  telegram:\n    acess: open\n')
  await refused(['telegram', '--token-stdin'], /unknown key "acess" in gateway\.telegram \(did you mean "access"\?\)/)
})
