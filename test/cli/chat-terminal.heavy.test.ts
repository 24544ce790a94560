import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { newTerminalScreen, screenAfter } from '../harness/terminal-screen.ts'
import {
  type CliProcess,
  holdfast,
  lacksTerminal,
  newHome,
  pidAtTerminal,
  startAtTerminal,
  startServing,
} from './holdfast.ts'

const CONTROL_C = '\x03'
const CONTROL_D = '\x04'
const PASTE_ON = '\x1b[?2004h'
const PASTE_OFF = '\x1b[?2004l'
const WIDE = { columns: 100, rows: 30 }
const NARROW = { columns: 40, rows: 20 }

const pasted = (text: string): string => `\x1b[200~${text}\x1b[201~`

type Screen = { terminal: ReturnType<typeof newTerminalScreen>; fed: number }
const screens = new WeakMap<CliProcess, Screen>()

/** The rows of the screen of this chat. Each piece of its output is read once: redrawn rows make it long. */
function rowsOf(chat: CliProcess, output: string, size: typeof WIDE): string[] {
  const screen = screens.get(chat) ?? { terminal: newTerminalScreen(size), fed: 0 }
  screens.set(chat, screen)
  screen.terminal.feed(output.slice(screen.fed))
  screen.fed = output.length
  return screen.terminal.rows()
}

/** Waits until the screen of a terminal of this size shows the text in one row. */
const shows = (chat: CliProcess, text: string, size = WIDE) =>
  chat.waitUntil((output) => rowsOf(chat, output, size).some((row) => row.includes(text)), `a row with "${text}"`)

/** Waits until the last row that is not empty is this one. */
const endsWith = (chat: CliProcess, text: string, size = WIDE) =>
  chat.waitUntil(
    (output) => rowsOf(chat, output, size).findLast((row) => row !== '') === text,
    `the last row "${text}"`,
  )

const ready = (chat: CliProcess, size = WIDE) => endsWith(chat, 'you ›', size)

/** The terminal reads lines again, and no longer marks pastes. */
function assertGivenBack(stdout: string): void {
  assert.match(stdout.trimEnd(), /[^-]icanon$/)
  assert.ok(stdout.lastIndexOf(PASTE_OFF) > stdout.lastIndexOf(PASTE_ON))
}

const messagesOf = async (home: string): Promise<string[]> => {
  const runs = JSON.parse((await holdfast(['runs', '--json'], { home })).stdout) as { run_id: string }[]
  const shown = await Promise.all(runs.map(({ run_id: id }) => holdfast(['runs', 'show', id, '--json'], { home })))
  return shown.map(({ stdout }) => stdout)
}

describe('holdfast chat at a terminal', { concurrency: 3, skip: lacksTerminal }, () => {
  test('a paste of 200 lines is one message, shown as one place in the input line', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home })
    await ready(chat)
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index + 1}`).join('\r')
    chat.type(`look: ${pasted(lines)} thanks`)
    await endsWith(chat, 'you › look: [Pasted: 200 lines] thanks')
    chat.type('\r')
    await shows(chat, 'tokens · scripted/friendly')
    chat.type(CONTROL_D)
    const { code, stdout } = await chat.ended
    assert.equal(code, 0)
    assertGivenBack(stdout)
    const runs = await messagesOf(home)
    assert.equal(runs.length, 1)
    assert.ok(runs[0]!.includes('look: line 1\\nline 2\\n') && runs[0]!.includes('line 200 thanks'))
    assert.match(readFileSync(join(home, 'chat-history'), 'utf8'), /look: line 1\\\nline 2\\\n/)
  })

  test('lines are joined by Ctrl-J, Alt-Enter, Shift-Enter and a backslash at the end', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home })
    await ready(chat)
    chat.type('one\ntwo\x1b\rthree\x1b[13;2ufour\\\rfive')
    await endsWith(chat, '      five')
    // Up moves within the message before it moves to the history.
    chat.type('\x1b[A\x1b[A!\r')
    await shows(chat, 'tokens · scripted/friendly')
    chat.type(CONTROL_D)
    await chat.ended
    const [only = ''] = await messagesOf(home)
    assert.ok(only.includes('one\\ntwo\\nthre!e\\nfour\\nfive'), only.slice(0, 2_000))
  })

  test('the line is edited by characters as a person sees them, and the arrow keys bring back what was sent', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home })
    await ready(chat)
    chat.type('a日👩‍👩‍👧b\x7f\x7f')
    await endsWith(chat, 'you › a日')
    chat.type('\x01x\x05y\x17')
    await ready(chat)
    chat.type('/status\r')
    await shows(chat, 'conversation  conv-')
    chat.type('draft\x1b[A')
    await endsWith(chat, 'you › /status')
    chat.type('\x1b[B')
    await endsWith(chat, 'you › draft')
    chat.type(CONTROL_C)
    await ready(chat)
    chat.type(`/st\t${CONTROL_C}/sto\t`)
    await endsWith(chat, 'you › /stop')
    chat.type(`${CONTROL_C}${CONTROL_C}`)
    assert.equal((await chat.ended).code, 0)
    assert.equal(statSync(join(home, 'chat-history')).mode & 0o777, 0o600)
  })

  test('in a narrow window words stay whole, and no row is wider than the window', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home, size: NARROW })
    await ready(chat, NARROW)
    chat.type('hello\r')
    await chat.waitUntil(
      (output) => /scripted\/friendly\s+·\s+\d+\.\d s/.test(rowsOf(chat, output, NARROW).join('\n')),
      'the line about the turn',
    )
    chat.type(CONTROL_D)
    const { stdout } = await chat.ended
    const rows = screenAfter(stdout, NARROW)
    const text = rows.join('\n')
    for (const words of ['Hello! I am the built-in model: a', 'handful of rules, so that you can try'])
      assert.ok(rows.includes(words), `${words} in:\n${text}`)
    assert.ok(text.includes('• "what time is it in Tokyo" - I use a\n  tool'), text)
  })

  test('typed-ahead text is visible while a turn runs, its turn follows, and a command runs at once', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home })
    await ready(chat)
    chat.type('count to 100\r')
    await shows(chat, 'running slow_count')
    chat.type('roll two')
    await endsWith(chat, 'you › roll two')
    await shows(chat, 'Ctrl-C cancels')
    chat.type(' dice\r')
    await shows(chat, 'queued: roll two dice')
    chat.type('/new\r')
    await shows(chat, 'A turn is running, so /new has to wait. /stop cancels the turn.')
    chat.type('/stop\r')
    await shows(chat, '■ Cancelled.')
    await shows(chat, '8 in all.'.slice(1))
    await ready(chat)
    chat.type(CONTROL_D)
    const rows = screenAfter((await chat.ended).stdout, WIDE)
    assert.ok(rows.indexOf('you › roll two dice') > rows.indexOf('  ■ Cancelled.'))
  })

  test('Ctrl-C cancels a turn in under a second, twice leaves it, and the terminal is given back', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home })
    await ready(chat)
    chat.type('count to 100\r')
    await shows(chat, '2 of 100')
    const before = Date.now()
    chat.type(CONTROL_C)
    await shows(chat, '■ Cancelled.')
    const took = Date.now() - before
    await ready(chat)
    chat.type('tell me a long story\r')
    await shows(chat, 'lighthouse')
    chat.type(`half a sentence${CONTROL_C}${CONTROL_C}`)
    const { code, stdout } = await chat.ended
    assert.equal(code, 0)
    assert.match(stdout, /Left during a turn/)
    assertGivenBack(stdout)
    // A second on an idle machine; this one runs other tests.
    assert.ok(took < 5_000, `${took} ms`)
  })

  test('/new and /switch at a question leave the approval open in its conversation, and it is answered there', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home })
    await ready(chat)
    chat.type('send a postcard to Ada saying hi\r')
    await shows(chat, 'y = yes')
    chat.type('/new\r')
    await shows(chat, 'The old one waits for approval, and its processes go on: /switch')
    await ready(chat)
    chat.type('y\r')
    await shows(chat, 'tokens · scripted/friendly')
    chat.type('/switch send a\r')
    await shows(chat, 'An approval is still pending')
    await shows(chat, 'y = yes')
    chat.type('/switch y\r')
    await shows(chat, 'The approval in the old conversation stays open: /switch')
    await ready(chat)
    assert.ok(!existsSync(join(home, 'outbox.jsonl')), 'y was a message of the new conversation')
    chat.type('/switch send a\r')
    await endsWith(chat, '  ›')
    chat.type('y\r')
    await shows(chat, 'is only a file in the home folder')
    await shows(chat, 'tokens · scripted/friendly')
    chat.type('/runs\r')
    await shows(chat, 'completed (requires_approval)')
    await shows(chat, 'send a postcard to Ada saying hi')
    chat.type(CONTROL_D)
    assert.equal((await chat.ended).code, 0)
    assert.equal(readFileSync(join(home, 'outbox.jsonl'), 'utf8').trim().split('\n').length, 1)
  })

  test('the turn of a message follows if the turn that it joined ended without reading it', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat', '--when-busy', 'steer'], { home, environment: { HOLDFAST_MAX_STEPS: '1' } })
    await ready(chat)
    chat.type('count to 4\r')
    await shows(chat, 'running slow_count')
    chat.type('roll two dice\r')
    await shows(chat, 'you › roll two dice (joins the running turn)')
    await shows(chat, 'The turn ended without reading "roll two dice"; its own turn follows.')
    await shows(chat, '→ roll_dice')
    await ready(chat)
    chat.type(CONTROL_D)
    assert.equal((await chat.ended).code, 0)
    assert.equal((await messagesOf(home)).length, 2)
  })

  test('with its output in a pipe the chat asks on stderr, and leaves when the pipe is closed', async (context) => {
    const home = newHome(context)
    const log = join(home, 'log')
    const chat = startAtTerminal(['chat'], { home, pipedTo: `tee '${log}'` })
    await chat.waitForText('you › ')
    chat.type('send a postcard to Ada saying hi\r')
    await chat.waitForText('y = yes')
    chat.type('not today\r')
    await chat.waitForText('tokens · scripted/friendly')
    chat.type('/quit\r')
    await chat.ended
    assert.match(
      readFileSync(log, 'utf8'),
      /you › send a postcard.*\? Run send_postcard\?.*: not today\n.*did not send/s,
    )
    const deaf = startAtTerminal(['chat'], { home, pipedTo: 'head -n 1' })
    await deaf.waitForText('you › ')
    deaf.type('count to 100\r')
    await deaf.ended
  })

  test('SIGTERM at a question gives the terminal back', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home })
    await ready(chat)
    chat.type('forget everything\r')
    await shows(chat, 'y = yes')
    process.kill(pidAtTerminal(home), 'SIGTERM')
    const { code, stdout } = await chat.ended
    assert.equal(code, 143)
    assertGivenBack(stdout)
  })

  test('a server that is killed in mid-word is told on a line of its own, and the answer goes on', async (context) => {
    const home = newHome(context)
    const server = await startServing(home)
    const chat = startAtTerminal(['chat'], { home })
    await ready(chat)
    chat.type('tell me a long story\r')
    await shows(chat, 'holdfast:')
    server.child.kill('SIGKILL')
    await shows(chat, 'Lost the connection')
    const second = await startServing(home)
    await shows(chat, 'The server is back.')
    await shows(chat, '"Why do you hold on so tightly?" asked the gulls.')
    chat.type(CONTROL_C)
    await shows(chat, '■ Cancelled.')
    await ready(chat)
    chat.type(CONTROL_D)
    const { code, stdout } = await chat.ended
    assert.equal(code, 0)
    const rows = screenAfter(stdout, WIDE)
    assert.ok(rows.some((row) => /^ {2}Lost the connection to the server; waiting for it to restart\.$/.test(row)))
    second.child.kill('SIGTERM')
    await second.ended
  })

  test('without colors the source of answers is shown, wrapped and without a single style', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home, environment: { NO_COLOR: '1' } })
    await ready(chat)
    chat.type('hello\r')
    await shows(chat, '- "roll two dice" - several tools at once')
    await shows(chat, 'tokens · scripted/friendly')
    chat.type(CONTROL_D)
    const { stdout } = await chat.ended
    // biome-ignore lint/suspicious/noControlCharactersInRegex: styles begin with an escape character
    assert.doesNotMatch(stdout, /\x1b\[[\d;]*m/)
  })

  test('a terminal that cannot move its cursor gets lines, and asks for approvals', async (context) => {
    const home = newHome(context)
    const chat = startAtTerminal(['chat'], { home, environment: { TERM: 'dumb' } })
    await chat.waitForText('you › ')
    chat.type('send a postcard to Ada saying hi\r')
    await chat.waitForText('y = yes')
    chat.type('y\r')
    await chat.waitForText('The postcard to Ada is in the outbox. It is only')
    chat.type('/quit\r')
    const { code, stdout } = await chat.ended
    assert.equal(code, 0)
    assert.ok(!stdout.includes('\x1b'))
    assert.ok(existsSync(join(home, 'outbox.jsonl')))
  })
})
