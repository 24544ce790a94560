/** The tags that Telegram knows. */
const TAGS = new Set(['b', 'strong', 'i', 'em', 'u', 's', 'a', 'code', 'pre', 'blockquote', 'tg-spoiler'])

/** The text after its entities are parsed, or the error of the Bot API. */
export function parseHtml(html: string): { text: string } | { error: string } {
  const open: string[] = []
  let text = ''
  let last = 0
  for (const match of html.matchAll(/<(\/?)([a-z-]*)([^<>]*)>?|[<>]/g)) {
    const [whole, slash, name = '', rest = ''] = match
    text += html.slice(last, match.index)
    last = match.index + whole.length
    if (whole === '>') {
      text += '>'
      continue
    }
    const isTag = whole.endsWith('>') && TAGS.has(name) && (slash === '' || rest.trim() === '')
    if (!isTag) return { error: `Unsupported start tag "${name}" at byte offset ${match.index}` }
    if (slash === '') open.push(name)
    else if (open.pop() !== name) return { error: `Unmatched end tag at byte offset ${match.index}` }
  }
  if (open.length > 0) return { error: `Can't find end tag corresponding to start tag "${open.at(-1)}"` }
  text += html.slice(last)
  return { text: decodeEntities(text) }
}

const decodeEntities = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
