import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Column, printTable } from '../../src/cli/render/table.ts'
import { PLAIN, type Screen, safeText } from '../../src/cli/terminal.ts'
import { cutToWidth, textWidth } from '../../src/cli/text-width.ts'

type Row = { name: string; id: string }

const ROWS: Row[] = [
  { name: 'ada', id: 'agent-01a1f06c-dce1-4ae4-b8d2-5a30510119e8' },
  { name: '日本語のとても長い名前のエージェント 👩‍👩‍👧', id: 'agent-01a1f06c-dce1-4ae4-b8d2-5a30510119e9' },
  { name: `a name\nwith \u001b[31mcodes\u001b[0m and \u202e reversal and a zero\u200bwidth`, id: 'agent-1' },
]

const COLUMNS: Column<Row>[] = [
  { title: 'NAME', text: ({ name }) => name, shrinksTo: 8 },
  { title: 'ID', text: ({ id }) => id, short: ({ id }) => id.slice(0, 14) },
]

function printed(width: number, canRedraw: boolean): string[] {
  const lines: string[] = []
  const screen: Screen = {
    write: () => {},
    line: (text = '') => void lines.push(text),
    look: { paint: PLAIN, canRedraw, width },
  }
  printTable(ROWS, COLUMNS, screen)
  return lines
}

test('a table fits the terminal, whatever the names are, and its columns stay aligned', () => {
  for (const width of [30, 40, 60, 80, 200]) {
    const lines = printed(width, true)
    assert.equal(lines.length, ROWS.length + 1)
    for (const line of lines) assert.ok(textWidth(line) <= width, `${width}: ${line}`)
    const starts = lines.slice(1).map((line) => textWidth(line.slice(0, line.lastIndexOf('agent-'))))
    assert.equal(new Set(starts).size, 1, lines.join('\n'))
  }
})

test('a pipe gets whole values', () => {
  const [, , second] = printed(20, false)
  assert.ok(second!.includes('エージェント') && second!.includes(ROWS[1]!.id))
})

test('a long text does not widen the table in a pipe', () => {
  const lines: string[] = []
  const screen: Screen = {
    write: () => {},
    line: (text = '') => void lines.push(text),
    look: { paint: PLAIN, canRedraw: false, width: 80 },
  }
  const words: Column<string> = { title: 'FIRST WORDS', text: (row) => row, longest: 20 }
  printTable(['hello\n'.repeat(100_000), 'hi'], [words], screen)
  assert.deepEqual(
    lines.map((line) => line.length <= 20),
    [true, true, true],
  )
  assert.match(lines[1]!, /^hello hello/)
})

test('control characters, reversals and characters without a width are shown', () => {
  const [, , , third] = printed(200, true)
  assert.match(third!, /a name with ␛\[31mcodes␛\[0m and <U\+202E> reversal and a zero<U\+200B>width/)
  assert.equal(safeText('👩‍👩‍👧'), '👩‍👩‍👧')
  assert.equal(safeText('pay\u200dpal'), 'pay<U+200D>pal')
})

test('widths are those of a terminal', () => {
  const widths: [string, number][] = [
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['한글', 4],
    ['❤️', 2],
  ]
  for (const [text, width] of widths) assert.equal(textWidth(text), width, text)
  assert.equal(cutToWidth('日本語', 5), '日本…')
})
