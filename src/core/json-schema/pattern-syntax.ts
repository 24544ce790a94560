/** A regular expression without backreferences: the subset that can be matched in time linear in the text. */
export type PatternNode =
  | { type: 'character'; matches(character: string): boolean }
  | { type: 'sequence'; nodes: PatternNode[] }
  | { type: 'choice'; nodes: PatternNode[] }
  | { type: 'repeat'; node: PatternNode; least: number; most: number }
  | { type: 'edge'; edge: 'start' | 'end' | 'word' | 'no-word' }
  | { type: 'look'; node: PatternNode; direction: 'ahead' | 'behind'; isNegated: boolean }

/** A pattern that cannot be used, with the reason. */
export class PatternFault extends Error {}

/** Patterns of real schemas have a few hundred characters. */
const MAX_CHARACTERS = 10_000
const MAX_NESTING = 50

/** Parses the syntax of JavaScript with the flag `u`. Throws `PatternFault`. */
export function parsePattern(pattern: string): PatternNode {
  if (pattern.length > MAX_CHARACTERS) throw new PatternFault(`it has more than ${MAX_CHARACTERS} characters`)
  try {
    // The parser of JavaScript refuses what is malformed; the one below may then trust the syntax.
    new RegExp(pattern, 'u')
  } catch (error) {
    throw new PatternFault((error as Error).message.split(': ').at(-1)!)
  }
  const reader: Reader = { signs: [...pattern], at: 0, depth: 0 }
  return readChoice(reader)
}

type Reader = { signs: string[]; at: number; depth: number }

function readChoice(reader: Reader): PatternNode {
  if (++reader.depth > MAX_NESTING) throw new PatternFault(`its groups are nested more than ${MAX_NESTING} deep`)
  const nodes = [readSequence(reader)]
  while (reader.signs[reader.at] === '|') {
    reader.at += 1
    nodes.push(readSequence(reader))
  }
  reader.depth -= 1
  return nodes.length === 1 ? nodes[0]! : { type: 'choice', nodes }
}

function readSequence(reader: Reader): PatternNode {
  const nodes: PatternNode[] = []
  for (;;) {
    const sign = reader.signs[reader.at]
    if (sign === undefined || sign === '|' || sign === ')') return { type: 'sequence', nodes }
    nodes.push(readRepeats(reader, readAtom(reader)))
  }
}

const GROUPS: { opening: string; look?: { direction: 'ahead' | 'behind'; isNegated: boolean } }[] = [
  { opening: '(?:' },
  { opening: '(?=', look: { direction: 'ahead', isNegated: false } },
  { opening: '(?!', look: { direction: 'ahead', isNegated: true } },
  { opening: '(?<=', look: { direction: 'behind', isNegated: false } },
  { opening: '(?<!', look: { direction: 'behind', isNegated: true } },
]

function readAtom(reader: Reader): PatternNode {
  const sign = reader.signs[reader.at]!
  switch (sign) {
    case '(':
      return readGroup(reader)
    case '[':
      return oneOf(readClass(reader))
    case '\\':
      return readEscape(reader)
    case '^':
    case '$':
      reader.at += 1
      return { type: 'edge', edge: sign === '^' ? 'start' : 'end' }
    case '.':
      reader.at += 1
      return oneOf('.')
    default:
      reader.at += 1
      return { type: 'character', matches: (character) => character === sign }
  }
}

function readGroup(reader: Reader): PatternNode {
  const rest = reader.signs.slice(reader.at, reader.at + 4).join('')
  const group = GROUPS.find(({ opening }) => rest.startsWith(opening))
  if (group) reader.at += group.opening.length
  else if (rest.startsWith('(?<')) reader.at = reader.signs.indexOf('>', reader.at) + 1
  else if (rest.startsWith('(?')) throw new PatternFault('it switches flags inside a group')
  else reader.at += 1
  const node = readChoice(reader)
  reader.at += 1
  return group?.look ? { type: 'look', node, ...group.look } : node
}

/** The text of `[…]`, from its opening to its closing bracket. */
function readClass(reader: Reader): string {
  const start = reader.at
  for (reader.at += 1; reader.signs[reader.at] !== ']'; reader.at += 1)
    if (reader.signs[reader.at] === '\\') reader.at += 1
  reader.at += 1
  return reader.signs.slice(start, reader.at).join('')
}

/** Escapes of one character that are longer than their letter. */
const LONG_ESCAPES =
  /^\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u.{4}|x..|c.)/

function readEscape(reader: Reader): PatternNode {
  const letter = reader.signs[reader.at + 1]!
  if (/[1-9k]/.test(letter)) throw new PatternFault('it refers back to a group, which takes unbounded work')
  if (letter === 'b' || letter === 'B') {
    reader.at += 2
    return { type: 'edge', edge: letter === 'b' ? 'word' : 'no-word' }
  }
  // The longest name of a property has some 50 letters.
  const long = LONG_ESCAPES.exec(reader.signs.slice(reader.at, reader.at + 100).join(''))?.[0]
  const escaped = long ?? `\\${letter}`
  reader.at += escaped.length
  return oneOf(escaped)
}

function readRepeats(reader: Reader, node: PatternNode): PatternNode {
  const bounds = readBounds(reader)
  if (!bounds) return node
  // A lazy repetition matches the same texts.
  if (reader.signs[reader.at] === '?') reader.at += 1
  return { type: 'repeat', node, ...bounds }
}

const SIMPLE_BOUNDS: Record<string, { least: number; most: number }> = {
  '*': { least: 0, most: Number.POSITIVE_INFINITY },
  '+': { least: 1, most: Number.POSITIVE_INFINITY },
  '?': { least: 0, most: 1 },
}

function readBounds(reader: Reader): { least: number; most: number } | undefined {
  const sign = reader.signs[reader.at] ?? ''
  const simple = SIMPLE_BOUNDS[sign]
  if (simple) {
    reader.at += 1
    return simple
  }
  if (sign !== '{') return undefined
  const end = reader.signs.indexOf('}', reader.at)
  const [least = '', most] = reader.signs
    .slice(reader.at + 1, end)
    .join('')
    .split(',')
  reader.at = end + 1
  if (most === undefined) return { least: Number(least), most: Number(least) }
  return { least: Number(least), most: most === '' ? Number.POSITIVE_INFINITY : Number(most) }
}

/** A class or an escape decides about one character, which JavaScript does in constant time. */
function oneOf(source: string): PatternNode {
  const expression = new RegExp(`^${source}$`, 'u')
  return { type: 'character', matches: (character) => expression.test(character) }
}
