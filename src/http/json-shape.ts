import { Problem } from '../core/problem.ts'

export type JsonLimits = {
  /** Levels of nesting. */
  depth: number
  /** Values in lists and objects: each costs far more memory than its bytes. */
  values: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Rejects JSON that is nested too deeply or has too many values, before it is parsed: 10 MB of brackets become 300 MB of
 * objects. One pass over the bytes; text in strings is skipped. Invalid JSON is left to the parser.
 */
export function checkJsonShape(body: Buffer, { depth: maxDepth, values: maxValues }: JsonLimits): void {
  let depth = 0
  let values = 0
  let strings = 0
  for (let index = 0; index < body.length; index++) {
    switch (body[index]) {
      case QUOTE:
        strings += 1
        index = endOfString(body, index)
        break
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1
        values += 1
        if (depth > maxDepth) throw new Problem('invalid', `body: is nested deeper than ${maxDepth} levels`)
        break
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1
        break
      case COMMA:
        values += 1
    }
    if (values > maxValues || strings > 2 * maxValues + 1)
      throw new Problem('too-large', `body: has more than ${maxValues} values. Send it in several requests.`)
  }
}

/** Index of the closing quote; the end of the body if there is none. */
function endOfString(body: Buffer, start: number): number {
  for (let end = body.indexOf(QUOTE, start + 1); end >= 0; end = body.indexOf(QUOTE, end + 1)) {
    let escapes = 0
    while (body[end - 1 - escapes] === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return end
  }
  return body.length
}
