import DOMPurify from 'dompurify'
import { Lexer, marked } from 'marked'

/** Longer texts are shown as they are: parsing them would hold the page. */
const MAX_MARKDOWN = 100_000
/** The time that the parser takes may grow with the square of the length of one block. */
const MAX_BLOCK = 10_000

const ESCAPES: Record<string, string> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' }
const escaped = (text: string): string => text.replace(/[<>&"]/g, (sign) => ESCAPES[sign]!)

// Markup in a text is shown as it was written: left out, it could hide something. Images of other servers are links.
marked.use({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
})

// Text of models and tools must not load anything, submit anything or carry styles.
const ALLOWED = {
  ALLOWED_TAGS: [
    'p',
    'br',
    'hr',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'strong',
    'em',
    'del',
    'code',
    'pre',
    'blockquote',
    'ul',
    'ol',
    'li',
    'table',
    'thead',
    'tbody',
    'tr',
    'th',
    'td',
    'a',
  ],
  ALLOWED_ATTR: ['href', 'start', 'align'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
}

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return
  node.setAttribute('target', '_blank')
  node.setAttribute('rel', 'noopener noreferrer nofollow')
})

/** The top-level blocks of a Markdown text, each to be parsed on its own. Undefined: the text is too long, or nested too deeply. */
export function blocksOf(text: string): string[] | undefined {
  if (text.length > MAX_MARKDOWN) return undefined
  try {
    const tokens = new Lexer(marked.defaults).blockTokens(text, [])
    const links = tokens.flatMap(({ type, raw }) => (type === 'def' ? [raw] : [])).join('\n')
    return tokens.flatMap(({ type, raw }) => {
      if (type === 'def' || type === 'space') return []
      // A link may name an address that the text gives elsewhere.
      return [links !== '' && raw.includes('[') ? `${raw.trimEnd()}\n\n${links}` : raw.trimEnd()]
    })
  } catch {
    return undefined
  }
}

/** What was sanitized lately: the message that takes the place of a live one has the same blocks. */
const known = new Map<string, string | undefined>()
const MAX_KNOWN = 2_000

/** Sanitized markup of one block. Undefined: the block is too long, or nested too deeply for the parser, and is shown as text. */
export function markupOf(block: string): string | undefined {
  const key = block.trimEnd()
  if (known.has(key)) return known.get(key)
  const markup = sanitized(key)
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(key, markup)
  return markup
}

function sanitized(block: string): string | undefined {
  if (block.length > MAX_BLOCK) return undefined
  try {
    return DOMPurify.sanitize(marked.parse(block, { async: false }), ALLOWED)
  } catch {
    // The parser is recursive: thousands of quotes in each other end its stack.
    return undefined
  }
}

/** Control and format characters: bidirectional marks, zero-width spaces, tags. */
const INVISIBLE = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const MAX_NAME = 60

/** A name as a line of a list: long ones are cut, because they would squeeze everything beside them. */
export function shortName(name: string): string {
  const characters = Array.from(name)
  return visible(characters.length > MAX_NAME ? `${characters.slice(0, MAX_NAME).join('')}…` : name)
}

/** A person who decides must see what a model wrote, reversed and invisible characters included. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (character) => `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`)
