import type { HtmlDialect } from '../../core/gateway/markdown-html.ts'

/** The HTML subset of Telegram. Line breaks are shown as they are. */
export const HTML: HtmlDialect = {
  bold: 'b',
  italic: 'i',
  strike: 's',
  heading: (inner) => `<b>${inner}</b>`,
  quotation: (inner) => `<blockquote>${inner}</blockquote>`,
  item: (inner, indent) => `${indent}• ${inner}`,
  lineBreak: '\n',
  blockBreak: '\n',
}
