/**
 * Markdown, as models write it, in the HTML subset of Telegram. What is not known stays as text: nothing is lost. Only
 * complete pairs become tags, so the result always parses.
 */
export function markdownToHtml(markdown: string): string {
  const blocks: string[] = []
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
      blocks.push(inlineHtml(line))
      index += 1
    }
  }
  return blocks.join('\n')
}

function findFenceEnd(lines: readonly string[], from: number): number {
  const end = lines.findIndex((line, at) => at >= from && /^ {0,3}```\s*$/.test(line))
  return end === -1 ? lines.length : end
}

const isTableRow = (line: string | undefined): boolean => line !== undefined && /^\s*\|.*\|\s*$/.test(line)
const isTableRule = (line: string | undefined): boolean => line !== undefined && /^\s*\|[\s:|-]+\|\s*$/.test(line)

function codeBlock(code: string, language: string): string {
  const inner = escapeHtml(code)
  return language === ''
    ? `<pre>${inner}</pre>`
    : `<pre><code class="language-${escapeHtml(language)}">${inner}</code></pre>`
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** One line: a heading, a list item, a quotation or plain text, with its inline marks. */
function inlineHtml(line: string): string {
  const heading = /^#{1,6}\s+(.+?)\s*#*$/.exec(line)
  if (heading) return `<b>${inline(heading[1]!)}</b>`
  const quotation = /^>\s?(.*)$/.exec(line)
  if (quotation) return `<blockquote>${inline(quotation[1]!)}</blockquote>`
  const item = /^(\s*)[-*+]\s+(.*)$/.exec(line)
  return item ? `${item[1]}• ${inline(item[2]!)}` : inline(line)
}

/** Code first: marks inside it are text. */
function inline(text: string): string {
  return text
    .split(/(`[^`]+`)/)
    .map((piece) =>
      /^`[^`]+`$/.test(piece) ? `<code>${escapeHtml(piece.slice(1, -1))}</code>` : marks(escapeHtml(piece)),
    )
    .join('')
}

const MARKS: readonly [pattern: RegExp, replacement: string][] = [
  [/\[([^\][]+)\]\((https?:\/\/[^\s()]+)\)/g, '<a href="$2">$1</a>'],
  [/\*\*(?=\S)([^*]+?)(?<=\S)\*\*/g, '<b>$1</b>'],
  [/~~(?=\S)([^~]+?)(?<=\S)~~/g, '<s>$1</s>'],
  [/(?<![\w*])\*(?=\S)([^*<>]+?)(?<=\S)\*(?![\w*])/g, '<i>$1</i>'],
  [/(?<![\w/.])_(?=\S)([^_<>]+?)(?<=\S)_(?!\w)/g, '<i>$1</i>'],
]

const marks = (text: string): string => MARKS.reduce((html, [pattern, by]) => html.replaceAll(pattern, by), text)
