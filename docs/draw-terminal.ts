import { readFileSync } from 'node:fs'

/**
 * Draws what a terminal showed (with its colors, as `tmux capture-pane -e -p` gives it) as an SVG picture:
 * `node docs/draw-terminal.ts "A chat" < chat.ansi > docs/pictures/chat.svg`
 */
const LINE_HEIGHT = 19
const CHARACTER_WIDTH = 8.43
const MARGIN = 18
const COLORS: Record<string, string> = { 31: '#f47067', 32: '#6bc46d', 33: '#d9a343', 36: '#56c2d6' }

// Built from a string: an escape character in a literal is more often a slip than meant.
const ESCAPE = '\\u001b'
const ESCAPES = new RegExp(`${ESCAPE}\\[[\\d;]*m`, 'g')
const STYLED = new RegExp(`(?:${ESCAPE}\\[([\\d;]*)m)?([^${ESCAPE}]*)`, 'g')

type Style = { color?: string; isBold: boolean; isDim: boolean }

const title = process.argv[2] ?? 'A terminal'
const text = readFileSync(0, 'utf8').trimEnd()
let style: Style = { isBold: false, isDim: false }
const lines = text.split('\n').map(drawLine)
const columns = Math.max(...text.split('\n').map((line) => line.replaceAll(ESCAPES, '').length))
const width = Math.ceil(columns * CHARACTER_WIDTH + 2 * MARGIN)
const height = lines.length * LINE_HEIGHT + 2 * MARGIN

process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" rx="10" fill="#1c2128"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" fill="#cdd9e5">
${lines.map((line, index) => `<text x="${MARGIN}" y="${MARGIN + (index + 0.75) * LINE_HEIGHT}">${line}</text>`).join('\n')}
</g>
</svg>
`)

/** Colors go on from line to line, as they do in a terminal. */
function drawLine(line: string): string {
  let drawn = ''
  for (const [, code, words] of line.matchAll(STYLED)) {
    if (code !== undefined) for (const one of code.split(';')) style = restyled(style, one)
    if (words) drawn += `<tspan${attributes(style)}>${kept(words)}</tspan>`
  }
  return drawn
}

function restyled(before: Style, code: string): Style {
  if (code === '0' || code === '') return { isBold: false, isDim: false }
  if (code === '1') return { ...before, isBold: true }
  if (code === '2') return { ...before, isDim: true }
  if (code === '39') return { isBold: before.isBold, isDim: before.isDim }
  const color = COLORS[code]
  return color ? { ...before, color } : before
}

function attributes({ color, isBold, isDim }: Style): string {
  return `${color ? ` fill="${color}"` : ''}${isBold ? ' font-weight="bold"' : ''}${isDim ? ' opacity="0.6"' : ''}`
}

/** With spaces that no browser draws as one. */
function kept(words: string): string {
  return escaped(words).replaceAll(' ', '\u00a0')
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
