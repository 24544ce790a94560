import { textWidth } from '../text-width.ts'

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** What a person sees as one character, an emoji of several code points included. */
export const graphemesOf = (text: string): string[] =>
  isPrintableAscii(text) ? text.split('') : [...segmenter.segment(text)].map(({ segment }) => segment)

/** Columns of plain text; a fast path for what most text is. */
export const widthOf = (text: string): number => (isPrintableAscii(text) ? text.length : textWidth(text))

/** Columns of text with style codes. */
export const styledWidth = (text: string): number => widthOf(withoutStyles(text))

// biome-ignore lint/suspicious/noControlCharactersInRegex: style codes begin with an escape character
const STYLE_CODE = /\x1b\[[\d;]*m/g

export const withoutStyles = (text: string): string => text.replace(STYLE_CODE, '')

const isPrintableAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)
