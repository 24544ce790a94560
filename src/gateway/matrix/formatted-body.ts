import { escapeHtml, type HtmlDialect, markdownToHtml } from '../../core/gateway/markdown-html.ts'

const HTML: HtmlDialect = {
  bold: 'strong',
  italic: 'em',
  strike: 'del',
  heading: (inner, level) => `<h${level}>${inner}</h${level}>`,
  quotation: (inner) => `<blockquote>${inner}</blockquote>`,
  item: (inner, indent) => `${indent.replaceAll(/\s/g, '&nbsp;')}• ${inner}`,
  lineBreak: '<br>',
  blockBreak: '',
}

/** What a client shows instead of the plain text. Undefined: the text has nothing to format. */
export function formattedBody(text: string): string | undefined {
  const html = markdownToHtml(text, HTML)
  return html === escapeHtml(text).replaceAll('\n', '<br>') ? undefined : html
}
