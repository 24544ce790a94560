import { decodeText } from './decode-text.ts'
import { findContent } from './main-content.ts'
import { type FetchedPage, kindOf } from './page-kind.ts'
import { type PageElement, parsePage } from './page-tree.ts'
import { toMarkdown } from './to-markdown.ts'

/** What a model reads. */
export type ReadablePage = { title: string; text: string } | { fault: string }

/** Runs in the page worker: it may take long, and hostile pages may end it. */
export async function readPage(page: FetchedPage): Promise<ReadablePage> {
  switch (kindOf(page)) {
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
