import type { MessageBody } from './message.ts'
import { textOf } from './message.ts'

/** What one question is made of: as it was written, and as the index knows it. Several tokens stand side by side. */
export type SearchTerm = { plain: string; tokens: readonly string[] }

/** A question of more words than this is cut. */
const MAX_TERMS = 32
/** PostgreSQL refuses a lexeme of 2 KB; longer words are keys and hashes, and known by their beginning. */
const MAX_TOKEN_LENGTH = 64
/** Signs of a word that stand side by side. */
const MAX_PHRASE_TOKENS = 4
/** Of one message. Far below the megabyte that PostgreSQL keeps of one text. */
const MAX_CHARACTERS = 100_000

const PIECES = /\p{Extended_Pictographic}|\p{Regional_Indicator}|[\p{L}\p{M}\p{N}]+/gu
const PICTURE = /^(\p{Extended_Pictographic}|\p{Regional_Indicator})$/u
/** Written without spaces between words: each sign counts, and those of a question stand side by side. */
const UNSPACED = '\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}'
const SIGNS = new RegExp(`[${UNSPACED}]\\p{M}*|[^${UNSPACED}]+`, 'gu')
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u')
const LATIN_MARKS = /(?<=[\p{Script=Latin}\p{Script=Greek}])\p{M}+/gu
const ASCII = /^[\0-\x7f]*$/

/** Nothing in a token can be an operator, a quote or a space, in either database. */
export function searchTerms(text: string): SearchTerm[] {
  const terms = new Map<string, SearchTerm>()
  for (const [piece] of text.slice(0, MAX_CHARACTERS).matchAll(PIECES)) {
    const tokens = tokensIn(piece)
    for (const term of tokens.length > MAX_PHRASE_TOKENS
      ? adjacentPairs(tokens)
      : [{ plain: piece.toLowerCase(), tokens }]) {
      if (term.tokens.length > 0) terms.set(term.tokens.join(' '), term)
      if (terms.size === MAX_TERMS) return [...terms.values()]
    }
  }
  return [...terms.values()]
}

/** A whole sentence without spaces: most words of such scripts are two signs, and the more pairs agree the better. */
const adjacentPairs = (tokens: readonly string[]): SearchTerm[] =>
  tokens.slice(1).map((token, index) => ({ plain: tokens[index]! + token, tokens: [tokens[index]!, token] }))

/** A text as the index keeps it. The same rules for both databases, so that both find the same. */
export function tokensIn(text: string): string[] {
  const tokens: string[] = []
  for (const [piece] of normalized(text.slice(0, MAX_CHARACTERS)).matchAll(PIECES))
    if (PICTURE.test(piece)) tokens.push(`picture${piece.codePointAt(0)!.toString(16)}`)
    else if (HAS_UNSPACED.test(piece)) for (const [sign] of piece.matchAll(SIGNS)) tokens.push(truncatedToken(sign))
    else tokens.push(truncatedToken(piece))
  return tokens
}

/** Whether an index that only knows words between spaces cannot find it. */
export const isUnspaced = ({ plain }: SearchTerm): boolean => HAS_UNSPACED.test(plain) || PICTURE.test(plain)

/** What a message says, where its words are what is searched. */
export function searchableText(body: MessageBody): string {
  switch (body.role) {
    case 'user':
    case 'system':
      return textOf(body.content)
    case 'assistant':
      return body.content
        .flatMap((part) => (part.type === 'text' || part.type === 'reasoning' ? [part.text] : []))
        .join('\n')
    case 'summary':
      return body.text
    case 'tool':
      return body.outcomes.map(({ output }) => output).join('\n')
    case 'approval':
      return ''
  }
}

/** By code points: half of a pair would be no text. */
const truncatedToken = (word: string): string =>
  word.length <= MAX_TOKEN_LENGTH ? word : [...word.slice(0, MAX_TOKEN_LENGTH * 2)].slice(0, MAX_TOKEN_LENGTH).join('')

function normalized(text: string): string {
  const lower = text.toLowerCase()
  if (ASCII.test(lower)) return lower
  return lower.normalize('NFKD').replace(LATIN_MARKS, '').normalize('NFKC')
}

/** The constant that rankings are joined with, as it is usual for reciprocal rank fusion. */
const RANK_CONSTANT = 60

const rankScore = (...ranks: readonly (number | undefined)[]): number =>
  ranks.reduce<number>((sum, rank) => (rank === undefined ? sum : sum + 1 / (RANK_CONSTANT + rank)), 0)

type Fused<T> = { item: T; ranks: (number | undefined)[]; score: number }

/** Several rankings as one: what is far up in several of them comes first. Equal ones keep the order they came in. */
export function fuseRankings<T>(rankings: readonly (readonly T[])[], keyOf: (item: T) => string): Fused<T>[] {
  const fused = new Map<string, Fused<T>>()
  for (const [which, ranking] of rankings.entries())
    for (const [index, item] of ranking.entries()) {
      const key = keyOf(item)
      const known = fused.get(key) ?? { item, ranks: rankings.map(() => undefined), score: 0 }
      known.ranks[which] ??= index + 1
      fused.set(key, known)
    }
  const all = [...fused.values()].map((one) => ({ ...one, score: rankScore(...one.ranks) }))
  return all.sort((one, other) => other.score - one.score)
}
