/** The HTML of a platform. */
export type HtmlDialect = {
  bold: string
  italic: string
  strike: string
  heading(inner: string, level: number): string
  quotation(inner: string): string
  item(inner: string, indent: string): string
  /** Between two lines that are no blocks of their own. */
  lineBreak: string
  /** Between a block and what is beside it. */
  blockBreak: string
}

/**
 * Markdown, as models write it, in the HTML subset of a platform. What is not known stays as text: nothing is lost. Only
 * complete pairs become tags, so the result always parses.
 */
export function markdownToHtml(markdown: string, dialect: HtmlDialect): string {
  const blocks: Block[] = []
  const lines = markdown.split('\n')
  for (let index = 0; index < lines.length; ) {
    const line = lines[index]!
    const fence = /^ {0,3}```\s*([\w+#.-]*)[^`]*$/.exec(line)
    if (fence) {
      const end = findFenceEnd(lines, index + 1)
      blocks.push(codeBlock(lines.slice(index + 1, end).join('\n'), fence[1] ?? ''))
      index = end + 1
    } else if (isTableRow(line) && isTableRule(lines[index + 1])) {
      const end = lines.findIndex((each, at) => at > index && !isTableRow(each))
      const rows = lines.slice(index, end === -1 ? undefined : end)
      blocks.push(codeBlock(rows.join('\n'), ''))
      index += rows.length
    } else {
      blocks.push(blockOf(line, dialect))
      index += 1
    }
  }
  return blocks.map(({ html, isBlock }, index) => html + breakAfter(isBlock, blocks[index + 1], dialect)).join('')
}

type Block = { html: string; isBlock: boolean }

function breakAfter(isBlock: boolean, next: Block | undefined, { lineBreak, blockBreak }: HtmlDialect): string {
  if (!next) return ''
  return isBlock || next.isBlock ? blockBreak : lineBreak
}

function findFenceEnd(lines: readonly string[], from: number): number {
  const end = lines.findIndex((line, at) => at >= from && /^ {0,3}```\s*$/.test(line))
  return end === -1 ? lines.length : end
}

const isTableRow = (line: string | undefined): boolean => line !== undefined && /^\s*\|.*\|\s*$/.test(line)
const isTableRule = (line: string | undefined): boolean => line !== undefined && /^\s*\|[\s:|-]+\|\s*$/.test(line)

function codeBlock(code: string, language: string): Block {
  const inner = escapeHtml(code)
  const html =
    language === ''
      ? `<pre>${inner}</pre>`
      : `<pre><code class="language-${escapeHtml(language)}">${inner}</code></pre>`
  return { html, isBlock: true }
}

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** One line: a heading, a list item, a quotation or plain text, with its inline marks. */
function blockOf(line: string, dialect: HtmlDialect): Block {
  const heading = /^(#{1,6})\s+(\S.*)$/.exec(line)
  if (heading) {
    const [, marks = '', text = ''] = heading
    return { html: dialect.heading(inline(withoutClosingMarks(text), dialect), marks.length), isBlock: true }
  }
  const quotation = /^>\s?(.*)$/.exec(line)
  if (quotation) return { html: dialect.quotation(inline(quotation[1]!, dialect)), isBlock: true }
  const item = /^(\s*)[-*+]\s+(.*)$/.exec(line)
  const html = item ? dialect.item(inline(item[2]!, dialect), item[1]!) : inline(line, dialect)
  return { html, isBlock: false }
}

/** A heading may end in marks of its own. A loop, because an expression would try each of many marks as the first. */
function withoutClosingMarks(text: string): string {
  let end = text.trimEnd().length
  while (text[end - 1] === '#') end--
  return text.slice(0, end).trimEnd() || text
}

/** Code first: marks inside it are text. */
function inline(text: string, dialect: HtmlDialect): string {
  return text
    .split(/(`[^`]+`)/)
    .map((piece) =>
      /^`[^`]+`$/.test(piece) ? `<code>${escapeHtml(piece.slice(1, -1))}</code>` : marks(escapeHtml(piece), dialect),
    )
    .join('')
}

const LINK = /\[([^\][]+)\]\((https?:\/\/[^\s()]+)\)/g

const MARKS: readonly [pattern: RegExp, tag: 'bold' | 'italic' | 'strike'][] = [
  [/\*\*(?=\S)([^*]+?)(?<=\S)\*\*/g, 'bold'],
  [/~~(?=\S)([^~]+?)(?<=\S)~~/g, 'strike'],
  [/(?<![\w*])\*(?=\S)([^*<>]+?)(?<=\S)\*(?![\w*])/g, 'italic'],
  [/(?<![\w/.])_(?=\S)([^_<>]+?)(?<=\S)_(?!\w)/g, 'italic'],
]

function marks(text: string, dialect: HtmlDialect): string {
  const linked = text.replaceAll(LINK, '<a href="$2">$1</a>')
  return MARKS.reduce(
    (html, [pattern, tag]) => html.replaceAll(pattern, `<${dialect[tag]}>$1</${dialect[tag]}>`),
    linked,
  )
}
