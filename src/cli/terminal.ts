import type { Environment } from '../ports/environment.ts'

type Brush = (text: string) => string
export type Paint = Record<'dim' | 'bold' | 'red' | 'green' | 'yellow' | 'cyan', Brush>

/** What a screen can show; rendering depends on this and on nothing else of it. */
export type Look = { paint: Paint; canRedraw: boolean; width: number }

export type Screen = {
  write(text: string): void
  line(text?: string): void
  readonly look: Look
}

type Stream = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number }

/** Pipes and files have no width; this is the one people expect of a terminal. */
const USUAL_WIDTH = 80

export function newScreen(stream: Stream, environment: Environment): Screen {
  const isCapable = stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb'
  const paint = isCapable ? COLOURED : PLAIN
  return {
    write: (text) => void stream.write(text),
    line: (text = '') => void stream.write(`${text}\n`),
    // Asked for each time: the window may have been resized.
    get look() {
      return { paint, canRedraw: isCapable, width: stream.columns || USUAL_WIDTH }
    },
  }
}

const brush =
  (on: number, off: number): Brush =>
  (text) =>
    text === '' ? '' : `\x1b[${on}m${text}\x1b[${off}m`

const COLOURED: Paint = {
  dim: brush(2, 22),
  bold: brush(1, 22),
  red: brush(31, 39),
  green: brush(32, 39),
  yellow: brush(33, 39),
  cyan: brush(36, 39),
}

const asItIs: Brush = (text) => text
export const PLAIN: Paint = { dim: asItIs, bold: asItIs, red: asItIs, green: asItIs, yellow: asItIs, cyan: asItIs }

/** Back to the start of the line and empty it: how a line that was left open is replaced. */
export const CLEAR_LINE = '\r\x1b[K'

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Text from models and tools may hold codes that move the cursor, recolour the screen or reverse what an approval shows.
 * They are made visible instead of obeyed.
 */
export const safeText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(CONTROLS, (code) => {
    const point = code.codePointAt(0)!
    if (point < 0x20) return String.fromCodePoint(0x2400 + point)
    return `<U+${point.toString(16).toUpperCase().padStart(4, '0')}>`
  })

export const shortened = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, Math.max(1, limit - 1))}…`

export const indented = (text: string, by: string): string => text.split('\n').join(`\n${by}`)
