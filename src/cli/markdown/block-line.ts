import type { WrapOptions } from '../live/wrap-text.ts'
import type { Look } from '../terminal.ts'
import { renderInline } from './inline.ts'

/** A line of an answer as the terminal shows it, before it is wrapped. */
export type ShownLine = { text: string } & Pick<WrapOptions, 'hang' | 'breakAt'>

export type Fence = { marker: string; indent: number }

const FENCE = /^(\s*)(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/
const QUOTE = /^ {0,3}((?:>\s?)+)(.*)$/
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/
const MAX_RULE = 40

/** The fence that this line opens, with the language it names. */
export function openedFence(line: string): (Fence & { language: string }) | undefined {
  const found = FENCE.exec(line)
  return found ? { indent: found[1]!.length, marker: found[2]!, language: found[3]! } : undefined
}

/** A fence ends with at least as many marks of its kind, and nothing else. */
export const closesFence = (line: string, { marker }: Fence): boolean => {
  const marks = line.trim()
  return marks.length >= marker.length && marks === marker[0]!.repeat(marks.length)
}

export const codeLine = (line: string, { indent }: Fence, { paint }: Look): ShownLine => ({
  text: `  ${paint.cyan(line.replace(new RegExp(`^ {0,${indent}}`), ''))}`,
  hang: '  ',
  breakAt: 'characters',
})

/** A line outside of fences and tables. */
export function textLine(line: string, { paint, width }: Look, isOpen: boolean): ShownLine {
  const inline = (source: string) => renderInline(source, { paint, isOpen })
  // Marks that are still alone may become text, an item or a rule.
  if (isOpen && /^\s*([#>+\-*_~`|]+|\d{1,9}[.)]?)\s*$/.test(line)) return { text: '' }
  if (RULE.test(line)) return { text: paint.dim('─'.repeat(Math.min(width, MAX_RULE))) }
  const heading = HEADING.exec(line)
  if (heading)
    return { text: paint.bold(heading[1]!.length < 3 ? paint.underline(inline(heading[2]!)) : inline(heading[2]!)) }
  const quote = QUOTE.exec(line)
  if (quote) {
    const bars = paint.dim('│ '.repeat(quote[1]!.replaceAll(/[^>]/g, '').length))
    return { text: bars + inline(quote[2]!), hang: bars }
  }
  const item = ITEM.exec(line)
  if (item) {
    const [, indent = '', mark = '', box, text = ''] = item
    const bullet = box !== undefined ? (box === ' ' ? '☐' : '☑') : /\d/.test(mark) ? mark : '•'
    return {
      text: `${indent}${paint.bold(bullet)} ${inline(text)}`,
      hang: ' '.repeat(indent.length + bullet.length + 1),
    }
  }
  return { text: inline(line.replace(/\s+$/, '')) }
}
