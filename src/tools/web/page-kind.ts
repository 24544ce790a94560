/** What a server answered. */
export type FetchedPage = { url: string; contentType: string; bytes: Uint8Array }

type PageKind = 'pdf' | 'html' | 'json' | 'text' | 'other'

export function kindOf({ contentType, bytes }: FetchedPage): PageKind {
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
