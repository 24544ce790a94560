import { styleText } from 'node:util'

type Style = (text: string) => string
export type Paint = Record<
  'dim' | 'bold' | 'italic' | 'underline' | 'strikethrough' | 'red' | 'green' | 'yellow' | 'cyan',
  Style
>

/** Capabilities of a screen. Rendering depends on nothing else. */
export type Look = { paint: Paint; canRedraw: boolean; width: number }

export type Screen = {
  write(text: string): void
  line(text?: string): void
  readonly look: Look
}

type ScreenEnvironment = { readonly NO_COLOR?: string | undefined; readonly TERM?: string | undefined }

type Stream = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number }

/** Pipes and files have no width; 80 is the usual one of a terminal. */
const DEFAULT_WIDTH = 80

export function newScreen(stream: Stream, environment: ScreenEnvironment): Screen {
  const canRedraw = isCapable(stream, environment)
  const paint = canRedraw && !environment.NO_COLOR ? COLORED : PLAIN
  return {
    write: (text) => void stream.write(text),
    line: (text = '') => void stream.write(`${text}\n`),
    // Read each time: the window may have been resized.
    get look() {
      return { paint, canRedraw, width: stream.columns || DEFAULT_WIDTH }
    },
  }
}

/** Whether the stream is a terminal that moves its cursor when told. NO_COLOR asks for no colors, not for less. */
export const isCapable = (stream: Pick<Stream, 'isTTY'>, { TERM }: ScreenEnvironment): boolean =>
  stream.isTTY === true && TERM !== 'dumb'

/** Whether the stream shows colors is decided in `newScreen`, for the stream and environment it was given. */
const styled =
  (style: keyof Paint): Style =>
  (text) =>
    text === '' ? '' : styleText(style, text, { validateStream: false })

const COLORED: Paint = {
  dim: styled('dim'),
  bold: styled('bold'),
  italic: styled('italic'),
  underline: styled('underline'),
  strikethrough: styled('strikethrough'),
  red: styled('red'),
  green: styled('green'),
  yellow: styled('yellow'),
  cyan: styled('cyan'),
}

const unstyled: Style = (text) => text
export const PLAIN: Paint = {
  dim: unstyled,
  bold: unstyled,
  italic: unstyled,
  underline: unstyled,
  strikethrough: unstyled,
  red: unstyled,
  green: unstyled,
  yellow: unstyled,
  cyan: unstyled,
}

/** Moves to the start of the line and clears it, to replace an open line. */
export const CLEAR_LINE = '\r\x1b[K'

/** Characters that move, recolor, reverse or hide text. The joiners stay where emoji and the Arabic script need them. */
const CONTROLS = new RegExp(
  [
    String.raw`[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]`,
    String.raw`[\u{e0000}-\u{e007f}]`,
    String.raw`(?<!\p{Script=Arabic})\u200c`,
    String.raw`(?<!\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d|\u200d(?!\p{Extended_Pictographic})`,
  ].join('|'),
  'gu',
)

/**
 * Text from models and tools may hold codes that move the cursor, recolor the screen or reverse what an approval shows.
 * They are shown as visible characters instead, and so are characters without a width.
 */
export const safeText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(CONTROLS, (code) => {
    const point = code.codePointAt(0)!
    if (point < 0x20) return String.fromCodePoint(0x2400 + point)
    return `<U+${point.toString(16).toUpperCase().padStart(4, '0')}>`
  })

/** A name in one line: a line break in it is shown. */
export const safeName = (text: string): string => safeText(text).replaceAll('\n', '␊')

export const shortened = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, Math.max(1, limit - 1))}…`

export const indented = (text: string, by: string): string => text.split('\n').join(`\n${by}`)
