export type CompactJson = { add(piece: string): string }

/**
 * Rewrites JSON that arrives in pieces the way `JSON.stringify` writes it, so that streamed arguments equal the stored
 * ones. Returns of each piece what is certain; the rest follows with later pieces. What cannot be rewritten in pieces
 * (repeated keys, broken JSON) differs from the stored text at the end, so the caller compares the two.
 */
export function newCompactJson(): CompactJson {
  let isInString = false
  /** The start of an escape or a surrogate pair, a number or a literal: its end is not known yet. */
  let held = ''

  function addToString(rest: string): [written: string, after: string] {
    const end = rest.search(held === '' ? STRING_BREAK : NEVER)
    if (end !== 0 && held === '') {
      const run = end < 0 ? rest : rest.slice(0, end)
      return [run, rest.slice(run.length)]
    }
    if (held === '' && rest[0] === '"') {
      isInString = false
      return ['"', rest.slice(1)]
    }
    const text = held + rest
    const unit = WHOLE_UNIT.exec(text)?.[0]
    if (unit === undefined && MAY_GROW.test(text)) {
      held = text
      return ['', '']
    }
    const taken = unit ?? text[0]!
    held = ''
    return [rewritten(`"${taken}"`).slice(1, -1), text.slice(taken.length)]
  }

  function addOutside(rest: string): [written: string, after: string] {
    const word = WORD.exec(rest)?.[0] ?? ''
    held += word
    if (word.length === rest.length) return ['', '']
    const done = held === '' ? '' : rewritten(held)
    held = ''
    const next = rest[word.length]!
    isInString = next === '"'
    return [BLANK.test(next) ? done : done + next, rest.slice(word.length + 1)]
  }

  return {
    add(piece) {
      let written = ''
      for (let rest = piece; rest !== ''; ) {
        const [more, after] = isInString ? addToString(rest) : addOutside(rest)
        written += more
        rest = after
      }
      return written
    },
  }
}

/** Where a run of characters that stay as they are ends: a quote, an escape, or half of a surrogate pair. */
const STRING_BREAK = /["\\\ud800-\udfff]/
const NEVER = /(?!)/
const HIGH = '\\\\u[dD][89abAB][0-9a-fA-F]{2}'
/** An escape or a pair that is complete. The first half of a pair is complete only with the second. */
const WHOLE_UNIT = new RegExp(
  `^(?:\\\\[^u]|${HIGH}\\\\u[0-9a-fA-F]{4}|(?!${HIGH})\\\\u[0-9a-fA-F]{4}|[\\ud800-\\udbff][\\udc00-\\udfff])`,
)
const MAY_GROW = /^(?:\\u?[0-9a-fA-F]{0,4}|\\u[0-9a-fA-F]{4}\\u?[0-9a-fA-F]{0,3}|[\ud800-\udbff])$/
const WORD = /^[^\s"{}[\],:]*/
const BLANK = /\s/

/** Invalid JSON stays as it is: the comparison at the end finds it. */
function rewritten(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json))
  } catch {
    return json
  }
}
