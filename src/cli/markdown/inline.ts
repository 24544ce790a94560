import type { Paint } from '../terminal.ts'

type InlineOptions = {
  paint: Paint
  /** The text still arrives: an opened style counts although its end is missing. */
  isOpen: boolean
}

type Style = { marker: string; look: (paint: Paint) => (text: string) => string }

/** Longer markers first. */
const STYLES: readonly Style[] = [
  { marker: '***', look: (paint) => (text) => paint.bold(paint.italic(text)) },
  { marker: '**', look: (paint) => paint.bold },
  { marker: '__', look: (paint) => paint.bold },
  { marker: '~~', look: (paint) => paint.strikethrough },
  { marker: '*', look: (paint) => paint.italic },
  { marker: '_', look: (paint) => paint.italic },
]

const ESCAPABLE = /^\\([!-/:-@[-`{-~])/
const LINK = /^(!?)\[((?:[^[\]\\]|\\.)*)\]\((\S*?)(?:\s+"[^"]*")?\)/
const ADDRESS = /^<(https?:\/\/[^\s<>]+)>/
const CODE = /^(`+)([\s\S]*?[^`]|)\1(?!`)/
/** A marker at the end may still become a longer one, or none. */
const HALF_MARKER = /[*_~`]+$/

/** Bold, italics, code and links of one line, as the terminal shows them. */
export function renderInline(source: string, options: InlineOptions): string {
  const text = options.isOpen ? source.replace(HALF_MARKER, '') : source
  let shown = ''
  for (let at = 0; at < text.length; ) {
    const [piece, length] = nextPiece(text, at, options)
    shown += piece
    at += length
  }
  return shown
}

/** What is shown for the text at this position, and how much of the text that is. */
function nextPiece(text: string, at: number, options: InlineOptions): [string, number] {
  const { paint, isOpen } = options
  const rest = text.slice(at, at + MAX_CONSTRUCT)
  const first = rest[0]!
  if (!MARKS.has(first)) {
    const plain = /^[^\\`![<*_~]+/.exec(rest)![0]
    return [plain, plain.length]
  }
  const escaped = ESCAPABLE.exec(rest)
  if (escaped) return [escaped[1]!, 2]
  const code = CODE.exec(rest)
  if (code) return [paint.cyan(code[2]!.replace(/^ (.*\S.*) $/, '$1')), code[0].length]
  if (first === '`' && isOpen) return [paint.cyan(rest.replace(/^`+/, '')), rest.length]
  const link = LINK.exec(rest)
  if (link) return [linkText({ label: link[2]!, address: link[3]! }, options), link[0].length]
  const address = ADDRESS.exec(rest)
  if (address) return [paint.underline(address[1]!), address[0].length]
  return styledPiece(text, at, options) ?? [first, 1]
}

const MARKS = new Set(['\\', '`', '!', '[', '<', '*', '_', '~'])
/** A bound on the text that one mark may concern, so that a long line costs little. */
const MAX_CONSTRUCT = 4_000

function styledPiece(text: string, at: number, options: InlineOptions): [string, number] | undefined {
  const rest = text.slice(at, at + MAX_CONSTRUCT)
  const style = STYLES.find(({ marker }) => rest.startsWith(marker))
  if (!style || !opens(text, at, style.marker)) return undefined
  const { marker, look } = style
  const end = closingAt(rest, marker)
  if (end === undefined && !options.isOpen) return undefined
  const inner = rest.slice(marker.length, end)
  return [look(options.paint)(renderInline(inner, options)), end === undefined ? rest.length : end + marker.length]
}

/** An opening marker stands before a word. Underscores inside a word are part of it. */
function opens(text: string, at: number, marker: string): boolean {
  const next = text[at + marker.length]
  if (next === undefined || /\s/.test(next)) return false
  return !marker.startsWith('_') || at === 0 || !/\w/.test(text[at - 1]!)
}

/** The position of the closing marker: behind a word, not inside code, and not a part of a longer marker. */
function closingAt(rest: string, marker: string): number | undefined {
  const mark = marker[0]!
  for (let at = marker.length; at < rest.length; at++) {
    if (rest[at] === '\\') at += 1
    else if (rest[at] === '`') at += (CODE.exec(rest.slice(at))?.[0].length ?? 1) - 1
    else if (rest[at] === mark) {
      const run = /^(.)\1*/.exec(rest.slice(at))![0].length
      const isBehindWord = !/\s/.test(rest[at - 1]!)
      const isInsideWord = mark === '_' && /\w/.test(rest[at + run] ?? '')
      const fits = run === marker.length || (run > marker.length && run - marker.length !== marker.length)
      if (isBehindWord && !isInsideWord && fits) return run > marker.length ? at + run - marker.length : at
      at += run - 1
    }
  }
  return undefined
}

/** A terminal cannot hide the address, and a reader must see where a link leads. */
function linkText({ label, address }: { label: string; address: string }, options: InlineOptions): string {
  const { paint } = options
  if (label === '' || label === address) return paint.underline(address)
  return `${paint.underline(renderInline(label, options))} ${paint.dim(`(${address})`)}`
}
