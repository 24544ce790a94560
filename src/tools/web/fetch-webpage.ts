import { errorText } from '../../core/error-text.ts'
import type { Tool } from '../../ports/tool.ts'
import { defineTool, failure, success } from '../define-tool.ts'
import { markAsData } from './mark-as-data.ts'
import { newPageReader } from './page-reader.ts'
import type { WebToolDeps } from './web-tool-deps.ts'

type FetchInput = { url: string; offset?: number | null }

/** Characters of a page in one answer; `offset` continues. */
const PAGE_CHARS = 40_000
const ACCEPT = 'text/html,application/xhtml+xml,application/pdf,application/json,text/plain;q=0.9,*/*;q=0.5'

/** Reads a page of the public web as Markdown. Repeatable: it only asks. */
export function fetchWebpage({ fetchPage }: Pick<WebToolDeps, 'fetchPage'>): Tool {
  const reader = newPageReader()
  return defineTool<FetchInput>({
    name: 'fetch_webpage',
    description:
      'Fetches a web page and returns its content as Markdown. Reads HTML, text, JSON and PDF from public addresses.',
    inputSchema: {
      type: 'object',
      properties: {
        url: { type: 'string', minLength: 1, maxLength: 4_000, description: 'The address, with https:// or http://.' },
        offset: {
          type: ['integer', 'null'],
          minimum: 0,
          description: 'For a long page: the character to continue from, as the end of the previous answer says.',
        },
      },
      required: ['url'],
      additionalProperties: false,
    },
    effects: 'none',
    parallel: true,
    run: async ({ url, offset }, { signal }) => {
      const address = /^[a-z][a-z0-9+.-]*:/i.test(url) ? url : `https://${url}`
      if (!URL.canParse(address)) return failure(`"${url}" is not a valid URL. Write it like https://example.com/page.`)
      reader.prepare()
      let response: Response
      let bytes: Uint8Array
      try {
        response = await fetchPage(address, { headers: { accept: ACCEPT, 'user-agent': USER_AGENT }, signal })
        bytes = new Uint8Array(await response.arrayBuffer())
      } catch (fault) {
        return failure(`${address} could not be fetched: ${errorText(fault)}.`)
      }
      const found = response.url || address
      const contentType = response.headers.get('content-type') ?? ''
      if (!response.ok) return failure(`${found} answered HTTP ${response.status} ${response.statusText}`.trimEnd())
      const page = await reader.read({ url: found, contentType, bytes }, signal)
      if ('fault' in page) return failure(`${found} was fetched, but has nothing to read. ${page.fault}`)
      return success(markAsData(excerptOf(page.text, offset ?? 0), { url: found, title: page.title }))
    },
  })
}

const USER_AGENT = 'Mozilla/5.0 (compatible; Holdfast agent)'

function excerptOf(text: string, offset: number): string {
  if (offset >= text.length && offset > 0)
    return `[The page has ${text.length} characters; there are none from ${offset}.]`
  const end = offset + PAGE_CHARS
  const excerpt = text.slice(offset, end)
  return end < text.length
    ? `${excerpt}\n[Characters ${offset} to ${end} of ${text.length}. Continue with "offset": ${end}.]`
    : excerpt
}
