import { isFurniture } from './main-content.ts'
import type { PageElement } from './page-tree.ts'

/** The element as Markdown, without the furniture of the page. Links and images become absolute. */
export function toMarkdown(element: PageElement, base: string): string {
  const lines = renderBlocks(element, { base })
    .split('\n')
    .map((line) => line.trimEnd())
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

type RenderContext = { base: string }

/** Tags that begin a line of their own. */
const BLOCKS = new Set(
  'address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main ol p pre section summary table tbody td th thead tr ul'.split(
    ' ',
  ),
)

function renderBlocks({ children }: PageElement, context: RenderContext): string {
  const parts: string[] = []
  let line = ''
  const endLine = () => {
    const text = tidyLine(line)
    if (text !== '') parts.push(text)
    line = ''
  }
  for (const child of children) {
    if (typeof child === 'string') line += collapseSpaces(child)
    else if (isFurniture(child)) continue
    else if (BLOCKS.has(child.tag) || hasBlock(child)) {
      endLine()
      const block = renderBlock(child, context)
      if (block.trim() !== '') parts.push(block)
    } else line += renderInline(child, context)
  }
  endLine()
  return parts.join('\n\n')
}

/** A link or a span around blocks is rendered as its blocks. */
const hasBlock = ({ children, tag }: PageElement): boolean =>
  INLINE_PARENTS.has(tag) && children.some((child) => typeof child !== 'string' && BLOCKS.has(child.tag))

const INLINE_PARENTS = new Set(['a', 'span', 'font', 'b', 'strong', 'em', 'i', 'label', 'picture'])

function renderBlock(element: PageElement, context: RenderContext): string {
  switch (element.tag) {
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6': {
      const text = inlineText(element, context)
      return text === '' ? '' : `${'#'.repeat(Number(element.tag[1]))} ${text}`
    }
    case 'hr':
      return '---'
    case 'pre':
      return renderCode(element)
    case 'blockquote':
      return prefixLines(renderBlocks(element, context), '> ', '> ')
    case 'ul':
    case 'ol':
      return renderList(element, context)
    case 'table':
      return renderTable(element, context)
    case 'dt':
      return `**${inlineText(element, context)}**`
    default:
      return renderBlocks(element, context)
  }
}

function renderList({ tag, children, attributes }: PageElement, context: RenderContext): string {
  let number = Number.parseInt(attributes.start ?? '1', 10) || 1
  const lines: string[] = []
  for (const child of children) {
    if (typeof child === 'string' || isFurniture(child)) continue
    const text = renderBlocks(child, context).replace(/\n{2,}/g, '\n')
    if (text === '') continue
    const mark = tag === 'ol' ? `${number++}. ` : '- '
    lines.push(prefixLines(text, mark, ' '.repeat(mark.length)))
  }
  return lines.join('\n')
}

function renderTable(table: PageElement, context: RenderContext): string {
  const rows = rowsOf(table).map((row) =>
    row.children.flatMap((cell) =>
      typeof cell !== 'string' && (cell.tag === 'td' || cell.tag === 'th') ? [cell] : [],
    ),
  )
  const width = Math.max(0, ...rows.map((row) => row.length))
  // One column is a layout, not data.
  if (width < 2) return rows.flatMap((row) => row.map((cell) => renderBlocks(cell, context))).join('\n\n')
  const lines = rows.map((row) => {
    const cells = row.map((cell) => inlineText(cell, context).replaceAll('|', '\\|'))
    return `| ${[...cells, ...Array<string>(width - cells.length).fill('')].join(' | ')} |`
  })
  return [lines[0] ?? '', `|${' --- |'.repeat(width)}`, ...lines.slice(1)].join('\n')
}

/** Rows of this table and of its sections; a table inside a cell belongs to the cell. */
const rowsOf = ({ children }: PageElement): PageElement[] =>
  children.flatMap((child) => {
    if (typeof child === 'string') return []
    if (child.tag === 'tr') return [child]
    return child.tag === 'thead' || child.tag === 'tbody' || child.tag === 'tfoot' ? rowsOf(child) : []
  })

function renderCode(element: PageElement): string {
  const text = rawText(element).trimEnd().replace(/^\n+/, '')
  const code = element.children.find((child) => typeof child !== 'string' && child.tag === 'code')
  const names = `${element.attributes.class ?? ''} ${(code as PageElement | undefined)?.attributes.class ?? ''}`
  const language = /\blang(?:uage)?-([\w+#-]{1,30})/.exec(names)?.[1] ?? ''
  const fence = text.includes('```') ? '````' : '```'
  return text === '' ? '' : `${fence}${language}\n${text}\n${fence}`
}

/** All text of an element on one line, its blocks separated by spaces. */
const inlineText = (element: PageElement, context: RenderContext): string =>
  tidyLine(renderInlineChildren(element, context)).replaceAll('\n', ' ')

const renderInlineChildren = ({ children }: PageElement, context: RenderContext): string =>
  children
    .map((child) => {
      if (typeof child === 'string') return collapseSpaces(child)
      if (isFurniture(child)) return ''
      return BLOCKS.has(child.tag) ? ` ${renderInlineChildren(child, context)} ` : renderInline(child, context)
    })
    .join('')

function renderInline(element: PageElement, context: RenderContext): string {
  switch (element.tag) {
    case 'br':
      return '\n'
    case 'b':
    case 'strong':
      return around(renderInlineChildren(element, context), '**')
    case 'i':
    case 'em':
      return around(renderInlineChildren(element, context), '*')
    case 'del':
    case 's':
      return around(renderInlineChildren(element, context), '~~')
    case 'code':
    case 'kbd':
    case 'samp':
      return around(collapseSpaces(rawText(element)), '`')
    case 'a':
      return renderLink(element, context)
    case 'img': {
      const { alt = '', src } = element.attributes
      const address = alt.trim() === '' ? undefined : absolute(src, context.base)
      return address ? `![${collapseSpaces(alt).trim()}](${address})` : ''
    }
    default:
      return renderInlineChildren(element, context)
  }
}

function renderLink(element: PageElement, context: RenderContext): string {
  const text = renderInlineChildren(element, context)
  const address = absolute(element.attributes.href, context.base)
  if (text.trim() === '' || !address) return text
  return `${/^\s/.test(text) ? ' ' : ''}[${text.trim()}](${address})${/\s$/.test(text) ? ' ' : ''}`
}

/** Undefined for addresses that are not on the web, and for data. */
function absolute(address: string | undefined, base: string): string | undefined {
  if (!address || address.startsWith('#') || !URL.canParse(address, base)) return undefined
  const { protocol, href } = new URL(address, base)
  return protocol === 'http:' || protocol === 'https:' || protocol === 'mailto:' ? href : undefined
}

/** Marks around the text, spaces outside of them. */
function around(text: string, mark: string): string {
  const inner = text.trim()
  if (inner === '') return text
  return `${/^\s/.test(text) ? ' ' : ''}${mark}${inner}${mark}${/\s$/.test(text) ? ' ' : ''}`
}

function rawText({ children }: PageElement): string {
  return children
    .map((child) => (typeof child === 'string' ? child : child.tag === 'br' ? '\n' : rawText(child)))
    .join('')
}

/** Most text has nothing to collapse, and a search is much cheaper than replacing every space with a space. */
const collapseSpaces = (text: string): string => (/\s\s|[^\S ]/.test(text) ? text.replace(/\s+/g, ' ') : text)

function tidyLine(line: string): string {
  const single = line.includes('  ') ? line.replace(/ {2,}/g, ' ') : line
  return (single.includes('\n') ? single.replace(/ ?\n ?/g, '\n') : single).trim()
}

const prefixLines = (text: string, first: string, rest: string): string =>
  text === '' ? '' : first + text.replaceAll('\n', `\n${rest}`)
