import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newCompactJson } from './compact-json.ts'

const rewrite = (pieces: string[]): string => {
  const compact = newCompactJson()
  return pieces.map((piece) => compact.add(piece)).join('')
}

/** Cuts a text at the given places. */
function cut(text: string, places: number[]): string[] {
  const sorted = [0, ...places.map((place) => place % (text.length + 1)).sort((a, b) => a - b), text.length]
  return sorted.slice(1).map((end, index) => text.slice(sorted[index], end))
}

const escaped = (json: string): string =>
  json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

test('however JSON is spaced, escaped and cut, it is written as JSON.stringify writes it', () => {
  // Keys that begin with a letter: JSON.parse moves keys that look like numbers to the front.
  const key = fc.string({ unit: 'binary' }).map((text) => `k${text}`)
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(true, false, null),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(key, tie('any'), { maxKeys: 3 }),
    ),
  })).any
  fc.assert(
    fc.property(
      fc.dictionary(key, value),
      fc.boolean(),
      fc.constantFrom(0, 2),
      fc.array(fc.nat()),
      (object, escapes, indent, places) => {
        const spaced = JSON.stringify(object, null, indent)
        const sent = escapes ? escaped(spaced) : spaced
        assert.equal(rewrite(cut(sent, places)), JSON.stringify(JSON.parse(sent)))
      },
    ),
    { numRuns: 500 },
  )
})

test('numbers and escapes are rewritten once their end has arrived', () => {
  assert.equal(rewrite(['{"a" : 1', '.', '50, "b":"\\', '/\\u00', 'e9"', ' }']), '{"a":1.5,"b":"/é"}')
  assert.equal(rewrite(['{"a":"\\ud83d', '\\ude00"}']), '{"a":"😀"}')
  assert.equal(rewrite(['{"a":"\ud83d', '\ude00"}']), '{"a":"😀"}')
  assert.equal(rewrite(['{"a":"\ud83d', 'x"}']), '{"a":"\\ud83dx"}')
})

test('broken JSON never throws, and nothing is written of what is not certain', () => {
  assert.equal(rewrite(['{"a": tru']), '{"a":')
  assert.equal(rewrite(['{"a": tru}']), '{"a":tru}')
  assert.equal(rewrite(['{"a":"\\uzz"}']), '{"a":"\\uzz"}')
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom(...'{}[]":,\\ue9d8 1.-x\n') })),
      (pieces) => void rewrite(pieces),
    ),
  )
})
