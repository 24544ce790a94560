import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatHistory, parseHistory, withEntry } from '../../src/cli/chat/chat-history.ts'
import { completed } from '../../src/cli/chat/completion.ts'
import { afterChunk, newTurnStatus, statusLine } from '../../src/cli/chat/turn-status.ts'
import { welcome } from '../../src/cli/chat/welcome.ts'
import { newChatScreen } from '../../src/cli/live/chat-screen.ts'
import { withoutStyles } from '../../src/cli/live/text-width.ts'
import { wrapLine } from '../../src/cli/live/wrap-text.ts'
import { argumentLines } from '../../src/cli/render/arguments.ts'
import { termLines } from '../../src/cli/render/terms.ts'
import { type Look, newScreen, PLAIN } from '../../src/cli/terminal.ts'
import { textWidth } from '../../src/cli/text-width.ts'
import type { Chunk } from '../../src/core/chunk.ts'
import { settleDenied } from '../../src/core/tool-call.ts'

const colored = newScreen({ isTTY: true, write: () => true }, {}).look.paint

/** A chat screen that writes into a list, with what its region shows now. */
function screenOf(look: Partial<Look> = {}, hasMarkdown = true) {
  const printed: string[] = []
  let open: readonly string[] = []
  const region = {
    print: (rows: readonly string[]) => void printed.push(...rows),
    show: (_: string, rows: readonly string[]) => {
      open = rows
    },
    flush: () => {},
    erase: () => {},
    close: () => {},
  }
  const whole: Look = { paint: PLAIN, canRedraw: true, width: 40, ...look }
  const screen = newChatScreen({ region, look: () => whole, maxOpenRows: () => 4, hasMarkdown })
  return { screen, printed, open: () => open }
}

/** The same text in pieces of one character must give the same rows as in one piece. */
function rendered(source: string, look: Partial<Look> = {}): string[] {
  const [whole, pieces] = [screenOf(look), screenOf(look)]
  whole.screen.answers.write(source)
  for (const character of source) pieces.screen.answers.write(character)
  for (const { screen } of [whole, pieces]) screen.finish()
  assert.deepEqual(pieces.printed, whole.printed, source)
  return whole.printed
}

test('words stay whole, words wider than a row are broken, and no character is lost', () => {
  assert.deepEqual(wrapLine('one two three', { width: 8 }), ['one two ', 'three'])
  assert.deepEqual(wrapLine('ab-abcdefghij k', { width: 6, hang: '  ' }), ['ab-a', '  bcde', '  fghi', '  j k'])
  const text = 'Zwölf Boxkämpfer jagen 日本語の文章 über den Sylter Deich 👩‍👩‍👧 '.repeat(4)
  for (const width of [10, 17, 40]) {
    const rows = wrapLine(text, { width })
    assert.ok(rows.every((row) => textWidth(row) <= width))
    assert.equal(rows.join('').replaceAll(' ', ''), text.replaceAll(' ', ''))
  }
})

test('a style goes on in the next row and never stays open', () => {
  const rows = wrapLine(`${colored.bold('one two three')} four`, { width: 8 })
  assert.deepEqual(rows.map(withoutStyles), ['one two ', 'three ', 'four'])
  assert.ok(rows[0]!.endsWith('\x1b[0m') && rows[1]!.startsWith('\x1b[1m'))
})

test('Markdown is shown the same, whether it arrives whole or character by character', () => {
  assert.deepEqual(rendered('# Title\n\nSome **bold** and *italic* text, `code` and [a link](http://x.y).\n'), [
    'Title',
    '',
    'Some bold and italic text, code and a ',
    'link (http://x.y).',
  ])
  assert.deepEqual(rendered('- one\n- [x] two\n  1. three\n> said\n---\n'), [
    '• one',
    '☑ two',
    '  1. three',
    '│ said',
    '─'.repeat(40),
  ])
  assert.deepEqual(rendered('```js\nconst a = "**b**"\n```\ndone'), ['  js', '  const a = "**b**"', 'done'])
  assert.deepEqual(rendered('| a | bb |\n|---|---:|\n| 1 | 2 |\n\nafter\n'), [
    'a │ bb',
    '──┼───',
    '1 │  2',
    '',
    'after',
  ])
  assert.deepEqual(rendered('2 * 3 * 4, snake_case_name, *args and **kwargs'), [
    '2 * 3 * 4, snake_case_name, *args and ',
    '**kwargs',
  ])
})

test('Markdown has styles on a terminal with colors', () => {
  assert.deepEqual(rendered('**a** `b`', { paint: colored }), [`${colored.bold('a')} ${colored.cyan('b')}`])
  assert.deepEqual(rendered('## Part', { paint: colored }), [colored.bold(colored.underline('Part'))])
})

test('an unfinished paragraph that is higher than the window keeps every word once', () => {
  const words = Array.from({ length: 120 }, (_, index) => `w${index}`).join(' ')
  assert.deepEqual(rendered(words).join(' ').split(/\s+/), words.split(' '))
})

test('a line of its own in the middle of an answer does not join it, and progress stays below', () => {
  const { screen, printed, open } = screenOf()
  screen.answers.write('half a sen')
  screen.line('  Lost the connection.')
  screen.answers.write('tence\n')
  screen.write('  … count: 1 of 3')
  screen.line('a command')
  assert.deepEqual(printed, ['half a sen', '  Lost the connection.', 'tence', 'a command'])
  assert.deepEqual(open(), ['  … count: 1 of 3'])
})

test('the history keeps entries of several lines, each once, within its bounds', () => {
  const entries = ['one', 'a\nb\\\nc', 'ends with \\']
  assert.deepEqual(parseHistory(formatHistory(entries)), ['one', 'a\nb\\\nc', 'ends with \\ '])
  assert.deepEqual(withEntry(['a', 'b'], 'a'), ['b', 'a'])
  assert.equal(
    withEntry(
      Array.from({ length: 600 }, (_, index) => `${index}`),
      'x',
    ).length,
    500,
  )
  assert.deepEqual(withEntry(['a'], 'x'.repeat(200_000)), ['a'])
})

test('Tab completes what is certain and lists what is not', () => {
  const completion = { from: 1, words: ['status', 'stop', 'switch'] }
  assert.deepEqual(completed('/stat', completion), { text: '/status ', choices: ['status'] })
  assert.deepEqual(completed('/st', completion), { text: '/st', choices: ['status', 'stop'] })
  assert.deepEqual(completed('/x', completion), { text: '/x', choices: [] })
})

test('terms and explanations stand in two columns, and below each other where there is no room', () => {
  const terms = [
    ['/help', 'Show this list.'],
    [
      '/reasoning off | minimal | low | medium | high',
      'How much the model reasons, from the next turn of this chat on.',
    ],
  ] as const
  assert.deepEqual(termLines(terms, { width: 50 }), [
    '  /help  Show this list.',
    '  /reasoning off | minimal | low | medium | high',
    '         How much the model reasons, from the next',
    '         turn of this chat on.',
  ])
  assert.deepEqual(termLines(terms, { width: 32 }), [
    '  /help',
    '    Show this list.',
    '  /reasoning off | minimal | low',
    '    | medium | high',
    '    How much the model reasons,',
    '    from the next turn of this',
    '    chat on.',
  ])
  for (const width of [12, 20, 31, 80]) {
    const rows = termLines(terms, { width })
    assert.ok(rows.every((row) => row.length <= width))
    assert.equal(rows.join(' ').replaceAll(/\s+/g, ' ').trim(), terms.flat().join(' '))
  }
})

test('the status names the model, the attempt and the seconds until it', () => {
  const look: Look = { paint: PLAIN, canRedraw: true, width: 100 }
  const failed: Chunk = {
    message_type: 'attempt_failed',
    target: 'openai/gpt-4.1',
    kind: 'rate-limited',
    detail: 'slow down',
    remedy: 'wait',
    wait_ms: 12_000,
  }
  let status = newTurnStatus('openai/gpt-4.1', 0)
  assert.match(statusLine(status, 3_000, look), /waiting for openai\/gpt-4\.1 · 3 s · Ctrl-C cancels$/)
  status = afterChunk(afterChunk(status, failed, 4_000), failed, 5_000)
  assert.match(statusLine(status, 5_000, look), /waiting for openai, attempt 3, next in 12 s · 5 s/)
  assert.match(statusLine(status, 18_000, look), /waiting for openai\/gpt-4\.1, attempt 3 · 18 s/)
})

test('an approval shows commands as commands, changes as changes, and characters without a width', () => {
  const look = { paint: PLAIN }
  assert.equal(argumentLines('{"command":"ls\\u200b -l"}', look), '\n      $ ls<U+200B> -l')
  assert.equal(
    argumentLines('{"path":"a","old_string":"1\\n2\\n3","new_string":"1\\nx\\n3"}', look),
    '\n      path: a\n        1\n      - 2\n      + x\n        3',
  )
})

test('the reason of a denial is a sentence of its own', () => {
  assert.match(settleDenied('call', 'no, not today').output, /Reason: no, not today\. It did not run\.$/)
  assert.match(settleDenied('call', 'No!').output, /Reason: No! It did not run\.$/)
})

test('the welcome names only what the agent has the tools for', () => {
  const look: Look = { paint: PLAIN, canRedraw: true, width: 100 }
  const shown = (tools: string[]) =>
    welcome({ name: 'ada', model: 'scripted/friendly', tools } as never, look).join('\n')
  assert.ok(!shown(['roll_dice']).includes('web page'))
  assert.match(shown(['roll_dice', 'write_file']), /write a small web page.*\n.*roll two dice/)
  assert.match(shown([]), /tell me a long story/)
})
