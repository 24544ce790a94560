import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type CliProcess, holdfast, newHome, startHoldfast, startServing } from '../cli/holdfast.ts'

/** The output of a command without the parts that differ from run to run. */
const plain = (text: string) => text.replaceAll(/(run|call|agent)-[0-9a-f-]{36}/g, '$1-…').replaceAll(/\d+ s\b/g, '… s')

const serverOf = (home: string): { url: string; pid: number } =>
  JSON.parse(readFileSync(join(home, 'server.json'), 'utf8'))

describe('commands while a server owns the home', () => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-served-'))
  let server: CliProcess
  before(async () => {
    server = await startServing(home)
  })
  after(async () => {
    server.child.kill('SIGTERM')
    await server.ended
    rmSync(home, { recursive: true, force: true })
  })

  test('print and do the same as without a server, and the server runs the turns', async (t) => {
    const alone = newHome(t)
    const commands = [
      ['run', 'what time is it in Tokyo', '--no-stream'],
      ['agents', 'create', 'bob', '--tool', 'send_postcard'],
      ['agents', 'create', 'eve', '--tool', 'hammer'],
      ['run', 'send a postcard to Ada saying hi', '--agent', 'bob', '--deny'],
      ['run', 'send a postcard to Ada saying hi', '--agent', 'bob'],
      ['run', 'hello', '--agent', 'bob'],
      ['runs', 'list'],
    ]
    for (const command of commands) {
      const [through, own] = [await holdfast(command, { home }), await holdfast(command, { home: alone })]
      const [said, usual] = [through, own].map(({ code, stdout, stderr }) => {
        const words = plain(`${stdout}${stderr}`)
          .replaceAll(/\d\d:\d\d:\d\d/g, '…')
          .replaceAll(/ {2,}/g, '  ')
        return `${code}\n${words}`
      })
      assert.equal(said, usual, command.join(' '))
    }
    const { stdout } = await holdfast(['approvals', '--json'], { home })
    const [{ run_id: waiting }] = JSON.parse(stdout)
    const approved = await holdfast(['approvals', 'approve', waiting], { home })
    assert.match(approved.stdout, /approved\nrun-\S+ continues the turn now\./)
    const other = await holdfast(['approvals', 'deny', waiting], { home })
    assert.equal(other.code, 4)
    assert.match(
      other.stderr,
      /^holdfast: This verdict came too late and changes nothing: .* approved\. It continues as run-/,
    )
    // The command names no verdicts when nothing is open any more, so a repeat is told what was decided.
    const again = await holdfast(['approvals', 'approve', waiting], { home })
    assert.equal(again.code, 4)
    assert.match(again.stderr, /came too late and changes nothing: .* approved/)
    assert.equal((await holdfast(['doctor'], { home })).code, 0)
  })

  test('chat works through the server, also in a new conversation, and a cancel reaches the turn', async () => {
    const chat = await holdfast(['chat', '--new'], { home, input: 'roll two dice\n/runs\n' })
    assert.equal(chat.code, 0, chat.stderr)
    assert.ok(chat.stdout.includes(`connected to the server at ${serverOf(home).url}`))
    assert.match(
      chat.stdout,
      /→ roll_dice[\s\S]*You rolled \d and \d[\s\S]*\nRUN .*STATUS.*\nrun-\S+ +completed .*roll two dice/,
    )

    const story = startHoldfast(['run', 'tell me a long story', '--agent', 'assistant'], { home })
    await story.waitForText('.')
    const [{ run_id: running }] = JSON.parse((await holdfast(['runs', '--json', '--limit', '1'], { home })).stdout)
    const cancelled = await holdfast(['runs', 'cancel', running], { home })
    assert.match(cancelled.stdout, /is cancelled|Cancel requested/)
    assert.equal((await story.ended).code, 130)
  })
})

test('a command without the key of the server says which variable is missing', async (t) => {
  const home = newHome(t)
  const server = await startServing(home, { HOLDFAST_API_KEY: 'a-key-of-the-environment' })
  const refused = await holdfast(['run', 'hello'], { home })
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /^holdfast: .*Set HOLDFAST_API_KEY to the key of the server/)
  const known = await holdfast(['run', 'hello'], {
    home,
    environment: { HOLDFAST_API_KEY: 'a-key-of-the-environment' },
  })
  assert.equal(known.code, 0, known.stderr)
  server.child.kill('SIGTERM')
  await server.ended
})
