import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ERROR_NAMES } from '../../src/simulator/error-table.ts'
import { holdfast, newHome, startHoldfast } from '../cli/holdfast.ts'
import { post } from './fixture-simulator.ts'

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] }

test('simulate prints its address, follows the script, logs each request and stops on Ctrl-C', async (context) => {
  const home = newHome(context)
  const script = join(home, 'script.json')
  writeFileSync(script, JSON.stringify([{ when: { model: 'm' }, answer: { error: 'overloaded' } }]))
  const args = [
    'simulate',
    '--port',
    '0',
    '--script',
    script,
    '--key',
    'sk-good=valid',
    '--key',
    'sk-gone=revoked',
    '--verbose',
  ]
  const simulating = startHoldfast(args, { home })
  let output = ''
  simulating.child.stdout.on('data', (text) => {
    output += text
  })
  await simulating.waitForText('curl -N')
  const url = /listens on (\S+)/.exec(output)![1]!
  assert.match(output, new RegExp(`OPENAI_BASE_URL=${url}/v1`))
  assert.match(output, new RegExp(`ANTHROPIC_BASE_URL=${url} `))
  assert.match(output, new RegExp(`GEMINI_BASE_URL=${url} `))
  assert.equal((await post(`${url}/v1/chat/completions`, CHAT, { key: 'sk-good' })).status, 503)
  assert.equal((await post(`${url}/v1/chat/completions`, CHAT, { key: 'sk-gone' })).status, 401)
  await simulating.waitForText('#2 openai-chat m, key …gone: 401, answered')
  await simulating.waitForText('{"model":"m","messages"')
  simulating.child.kill('SIGINT')
  const { code, stdout } = await simulating.ended
  assert.equal(code, 0)
  assert.match(stdout, /#1 openai-chat m, key …good: 503, answered after \d+ ms/)
  assert.doesNotMatch(stdout, /sk-good/)
})

test('an invalid script is refused with the file, the path and the expected value', async (context) => {
  const home = newHome(context)
  const script = join(home, 'script.json')
  writeFileSync(script, JSON.stringify([{ answer: { error: 'rate-limted' } }, { when: { model: 7 }, answer: {} }]))
  const { code, stderr } = await holdfast(['simulate', '--port', '0', '--script', script], { home })
  assert.equal(code, 2)
  assert.match(stderr, /script\.json is not valid:/)
  assert.match(stderr, /script\[0\]\.answer\.error: expected one of "rate-limit", .*found "rate-limted"/)
  assert.match(stderr, /script\[1\]\.when\.model: expected text, found 7/)
})

test('a script that is not JSON, a missing script, a bad key and a bad port each print one sentence', async (context) => {
  const home = newHome(context)
  const script = join(home, 'script.json')
  writeFileSync(script, '[{ "answer": ')
  const output = async (...args: string[]) => {
    const { code, stderr } = await holdfast(['simulate', '--port', '0', ...args], { home })
    assert.doesNotMatch(stderr, /bug/)
    return `${code} ${stderr}`
  }
  assert.match(await output('--script', script), /^2 .*\n.*the file: expected JSON/)
  assert.match(await output('--script', join(home, 'none.json')), /^3 .*none\.json cannot be read \(ENOENT\)/)
  assert.match(await output('--key', 'sk-secret=bought'), /^2 .*the state must be valid, .*not "bought"/)
  assert.match(await output('--key', 'sk-secret'), /^2 .*name=state/)
  assert.match(await output('--port', 'high'), /^2 .*--port must be a number/)
})

test('the help lists every error name of a script', async (context) => {
  const { stdout, code } = await holdfast(['simulate', '--help'], { home: newHome(context) })
  assert.equal(code, 0)
  for (const name of ERROR_NAMES) assert.match(stdout, new RegExp(`[ \\n]${name}[,\\n]`), name)
})
