import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { PatternFault, type PatternNode, parsePattern } from '../../src/core/json-schema/pattern-syntax.ts'
import { caseCount } from '../harness/case-count.ts'
import { attacks, growsTooFast } from './grows-too-fast.ts'

// A lint that measures: every regular expression of the rooms that read text of strangers on the event loop is tried on
// texts made from its own parts. Nested repetition and overlapping alternatives show as growth.

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))
const ROOMS = ['core', 'engine', 'service', 'http', 'tools', 'providers', 'live', 'net', 'storage', 'jobs', 'config']

/** Expressions that may grow, because their text is short; the reason is the value. */
const BOUNDED: Record<string, string> = {
  'providers/scripted/': 'the sentence has up to 10,000 characters',
  'tools/web/to-markdown.ts': 'it runs in the thread of the page reader, with a deadline',
  'tools/web/page-tree.ts': 'it runs in the thread of the page reader, with a deadline',
  'config/': 'the operator wrote the text',
  'providers/list-models.ts': 'the operator wrote the address',
  'providers/wire/wire-provider.ts': 'the operator wrote the address',
  'providers/embeddings/request-vectors.ts': 'the operator wrote the address',
  'tools/workspace/shell-words.ts': 'each expression is given 300 characters at most',
}

type Literal = { file: string; source: string; flags: string }

/** A regular expression after what may precede a value; a division has a value before it. */
const LITERAL = /(?<=[(,=:[!&|?{};>]\s*|return )\/(?![*/])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)/g

const literalsIn = (file: string): Literal[] =>
  [...readFileSync(join(SOURCE, file), 'utf8').matchAll(LITERAL)].flatMap(([, source = '', flags = '']) =>
    isExpression(source, flags) ? [{ file, source, flags }] : [],
  )

function isExpression(source: string, flags: string): boolean {
  try {
    new RegExp(source, flags)
    return true
  } catch {
    // A text that only looks like one.
    return false
  }
}

const SIGNS = ['a', 'c', '0', ' ', '\n', '"', "'", '(', '[', '{', '<', '/', '*', '-', '.', ',', ':', '=', '#', '_', 'é']
const ASCII = Array.from({ length: 95 }, (_, code) => String.fromCharCode(32 + code))

/** One text that the node matches, in one way of it. */
function witness(node: PatternNode): string {
  switch (node.type) {
    case 'character':
      return [...SIGNS, ...ASCII].find((sign) => node.matches(sign)) ?? ''
    case 'sequence':
      return node.nodes.map(witness).join('')
    case 'choice':
      return witness(node.nodes[0]!)
    case 'repeat':
      return witness(node.node).repeat(Math.min(node.least, 4))
    case 'edge':
    case 'look':
      return ''
  }
}

/** For each repetition: the text before it, and the texts that it may repeat. */
function repetitions(node: PatternNode, before = ''): { before: string; parts: string[] }[] {
  switch (node.type) {
    case 'sequence': {
      let read = before
      return node.nodes.flatMap((one) => {
        const found = repetitions(one, read)
        read += witness(one)
        return found
      })
    }
    case 'choice':
      return node.nodes.flatMap((one) => repetitions(one, before))
    case 'look':
      return repetitions(node.node, before)
    case 'repeat': {
      const inner = repetitions(node.node, before)
      if (node.most < 100) return inner
      const own = SIGNS.filter((sign) => node.node.type === 'character' && node.node.matches(sign))
      const parts = [witness(node.node), ...own].filter((part) => part !== '')
      return [{ before, parts: [...new Set(parts)] }, ...inner]
    }
    case 'character':
    case 'edge':
      return []
  }
}

function attacksOn({ source }: Literal) {
  try {
    const tree = parsePattern(source)
    const all = witness(tree)
    const more = all === '' ? [] : attacks([''], [all, all.slice(0, -1) || all], ['\u0001'])
    return [
      ...more,
      ...repetitions(tree).flatMap(({ before, parts }) => attacks([before, ''], parts, ['\u0001', 'a\u0001'])),
    ]
  } catch (fault) {
    // Syntax without the flag `u`, or a backreference: signs alone.
    if (fault instanceof PatternFault) return attacks([''], SIGNS, ['\u0001'])
    throw fault
  }
}

const isBounded = (file: string): boolean => Object.keys(BOUNDED).some((path) => file.startsWith(path))

function slowLiterals(literals: readonly Literal[]): string[] {
  return literals.flatMap((literal) => {
    const run = (text: string) => text.replace(new RegExp(literal.source, `${literal.flags.replace('y', '')}`), '')
    const slow = attacksOn(literal).find(({ inputOf }) => growsTooFast(inputOf, run))
    return slow ? [`${literal.file}: /${literal.source}/ on ${slow.name}`] : []
  })
}

test('no regular expression that reads text of strangers grows faster than the text', () => {
  const files = globSync(`{${ROOMS.join(',')}}/**/*.ts`, { cwd: SOURCE }).filter((file) => !file.endsWith('.test.ts'))
  const literals = files.filter((file) => !isBounded(file)).flatMap(literalsIn)
  assert.ok(literals.length > 200, `${literals.length} expressions`)
  assert.deepEqual(slowLiterals(literals), [])
})

test('the lint finds the expressions that stopped the server', () => {
  const bad = [
    '[\\s.!?]+$',
    '^\\s*export\\s+(?:default\\s+)?function',
    '^([A-Za-z_]\\w*)\\s*(?::\\s*([^=]+?))?\\s*(=[\\s\\S]*)?$',
    '^-[a-z]*c[a-z]*$',
  ].slice(0, caseCount(4))
  const literals = bad.map((source) => ({ file: 'bad.ts', source, flags: 'gm' }))
  const found = slowLiterals(literals)
  assert.equal(found.length, bad.length, found.join('\n'))
})
