import { collapse, type ErrorBody, textOfPage } from './error-body.ts'
import { maskSecrets } from './secrets.ts'

const MAX_DETAIL_CHARACTERS = 500

/** One line for people: the provider's message without markup and without possible secrets. */
export function readableDetail(body: ErrorBody, status: number | undefined): string {
  const answer = status === undefined ? 'The provider reported an error' : `HTTP ${status}`
  const words = body.form === 'page' ? body.messages.slice(0, 1) : body.messages.slice(0, 2)
  const joined = words.filter((word, index) => index === 0 || !words[0]!.includes(word)).join(': ')
  const line = oneLine(joined)
  if (line === '') return `${answer} ${body.form === 'empty' ? 'with an empty body' : 'without a message'}`
  const source = body.form === 'page' ? ' (a web page)' : body.upstream ? ` (from ${body.upstream})` : ''
  return source === '' ? line : oneLine(`${line}${source}`)
}

export function oneLine(text: string): string {
  const plain = /<[a-z!/]/i.test(text) ? textOfPage(text) : text
  const line = collapse(maskSecrets(plain.slice(0, 8_000)).replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ' '))
  return line.length <= MAX_DETAIL_CHARACTERS ? line : `${line.slice(0, MAX_DETAIL_CHARACTERS - 1)}…`
}
