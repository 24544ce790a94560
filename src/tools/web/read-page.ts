import { decodeText } from './decode-text.ts'
import { findContent } from './main-content.ts'
import { type PageElement, parsePage } from './page-tree.ts'
import { toMarkdown } from './to-markdown.ts'

/** What a server answered. */
export type FetchedPage = { url: string; contentType: string; bytes: Uint8Array }

/** What a model reads. */
export type ReadablePage = { title: string; text: string } | { fault: string }

/** Runs in the page worker: it may take long, and hostile pages may end it. */
export async function readPage(page: FetchedPage): Promise<ReadablePage> {
  const kind = kindOf(page)
  switch (kind) {
    case 'pdf':
      return readPdf(page.bytes)
    case 'html':
      return readHtml(page)
    case 'json':
      return { title: '', text: indentJson(decodeText(page.bytes, page.contentType)) }
    case 'text':
      return { title: '', text: decodeText(page.bytes, page.contentType) }
    case 'other':
      return { fault: `It is ${page.contentType || 'a file without a type'}, which cannot be read as text.` }
  }
}

type PageKind = 'pdf' | 'html' | 'json' | 'text' | 'other'

function kindOf({ contentType, bytes }: FetchedPage): PageKind {
  const type = contentType.split(';')[0]!.trim().toLowerCase()
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 512)).trimStart()
  if (start.startsWith('%PDF-')) return 'pdf'
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html'
  if (type === 'application/json' || type.endsWith('+json')) return 'json'
  if (type.startsWith('text/') || TEXT_TYPES.has(type) || type.endsWith('+xml')) return 'text'
  if (type !== '' && type !== 'application/octet-stream') return 'other'
  if (/^<(?:!doctype html|html|head|body)\b/i.test(start)) return 'html'
  return bytes.subarray(0, 8_192).includes(0) ? 'other' : 'text'
}

const TEXT_TYPES = new Set(['application/xml', 'application/javascript', 'application/yaml', 'application/x-yaml'])

function readHtml({ url, bytes, contentType }: FetchedPage): ReadablePage {
  const { title, root } = parsePage(decodeText(bytes, contentType))
  const content = findContent(root)
  const text = toMarkdown(content, url)
  if (text === '') return { fault: 'It has no text without JavaScript.' }
  return { title, text: hasHeading(content) || title === '' ? text : `# ${title}\n\n${text}` }
}

const hasHeading = ({ children }: PageElement): boolean =>
  children.some((child) => typeof child !== 'string' && (child.tag === 'h1' || hasHeading(child)))

function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1)
  } catch {
    // Not JSON after all: the model gets it as it is.
    return text
  }
}

/** Books are cut here; the note says so. */
const MAX_PDF_PAGES = 200

async function readPdf(bytes: Uint8Array): Promise<ReadablePage> {
  const { extractText, getDocumentProxy } = await import('unpdf')
  try {
    const document = await getDocumentProxy(bytes)
    const { text, totalPages } = await extractText(document, { mergePages: false })
    const pages = text.slice(0, MAX_PDF_PAGES).map((page, index) => `[page ${index + 1}]\n${page.trim()}`)
    if (pages.every((page) => page.endsWith(']\n'))) return { fault: 'It is a PDF without text (scanned pages).' }
    const rest = totalPages > MAX_PDF_PAGES ? [`[${totalPages - MAX_PDF_PAGES} more pages]`] : []
    return { title: '', text: [...pages, ...rest].join('\n\n') }
  } catch (error) {
    return { fault: `It is a PDF that cannot be read: ${(error as Error).message}.` }
  }
}
