import assert from 'node:assert/strict'
import { test } from 'node:test'
import { styleFaults, wordFaults } from '../check-style.ts'

const faultsIn = (text: string): string[] => styleFaults(text).map(({ line, fault }) => `${line} ${fault.slice(0, 20)}`)

test('the check finds an indefinite person in every kind of comment, and none in code or strings', () => {
  assert.deepEqual(faultsIn('const a = 1 // for anybody\n/** Whoever calls it. */\nconst b = 2'), [
    '1 "anybody": name the ',
    '2 "Whoever": name the ',
  ])
  assert.deepEqual(faultsIn('const f = {\n  // Somebody.\n  a: 1,\n}\n/*\n * Of nobody.\n */'), [
    '2 "Somebody": name the',
    '6 "nobody": name the c',
  ])
  assert.deepEqual(faultsIn("const nobody = 'somebody // anybody'"), [])
})

test('the check finds an object literal that is spread into another, in each branch of an expression', () => {
  for (const spread of ['{ a }', '(a ? { a } : {})', '(a ? b : { a })', '(a && { a })', '(a ?? {})'])
    assert.equal(styleFaults(`const x = { ...${spread} }`).length, 1, spread)
  for (const spread of ['a', '(a ? b : undefined)', 'f({ a })', '(a ?? b)'])
    assert.equal(styleFaults(`const x = { ...${spread} }`).length, 0, spread)
})

test('the check finds British spelling', () => {
  assert.equal(wordFaults('The organisation is recognised by its colour.').length, 1)
  assert.deepEqual(wordFaults('The organization is recognized by its color; a promise is cancelled.'), [])
})
