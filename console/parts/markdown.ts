import DOMPurify from 'dompurify'
import { marked } from 'marked'
import { useMemo } from 'preact/hooks'
import { html } from '../html.ts'

/** Longer texts are shown as they are: parsing them would hold the page. */
const MAX_MARKDOWN = 100_000
const MAX_TEXT = 2_000_000

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

/** Text of a model as Markdown; what tries to be HTML is shown as text or left out. */
export function Markdown({ text }: { text: string }) {
  const markup = useMemo(
    () => (text.length > MAX_MARKDOWN ? undefined : DOMPurify.sanitize(marked.parse(text, { async: false }), ALLOWED)),
    [text],
  )
  if (markup === undefined) return html`<${PlainText} text=${text} />`
  return html`<div class="markdown" dangerouslySetInnerHTML=${{ __html: markup }}></div>`
}

/** Text of tools, exactly as it is: control and invisible characters are shown by their names. */
export function PlainText({ text }: { text: string }) {
  const shown =
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n… ${text.length - MAX_TEXT} more characters` : text
  return html`<pre class="plain" tabindex="0">${visible(shown)}</pre>`
}

/** Control and format characters: bidirectional marks, zero-width spaces, tags. */
const INVISIBLE = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A person who decides must see what a model wrote, reversed and invisible characters included. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (character) => `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`)
