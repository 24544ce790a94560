import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { LIMITS, USUAL_LIMITS } from '../core/limits.ts'
import { Problem } from '../core/problem.ts'
import { limitKey, limitVariable, readLimits } from './limits.ts'

test('without a word of anybody the usual limits hold', () => {
  assert.deepEqual(readLimits({}, {}), USUAL_LIMITS)
})

test('the environment wins over config.yaml, and config.yaml over what is usual', () => {
  const configured = { body_bytes: 2048, json_depth: 10 }
  const limits = readLimits({ HOLDFAST_LIMIT_BODY_BYTES: '4096' }, configured)
  assert.equal(limits.bodyBytes, 4096)
  assert.equal(limits.jsonDepth, 10)
  assert.equal(limits.turnsPerKey, USUAL_LIMITS.turnsPerKey)
})

test('every limit that cannot be used is named at once', () => {
  const wrong = { HOLDFAST_LIMIT_BODY_BYTES: 'lots', HOLDFAST_LIMIT_CONNECTIONS: '0', HOLDFAST_LIMIT_JSON_DEPTH: '8' }
  assert.throws(
    () => readLimits(wrong, {}),
    (fault: Problem) => {
      assert.equal(fault instanceof Problem && fault.details.faults?.length, 2)
      return /HOLDFAST_LIMIT_BODY_BYTES.*HOLDFAST_LIMIT_CONNECTIONS/.test(fault.message)
    },
  )
})

test('every limit is documented under both of its names, with what is usual', () => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  for (const [name, { usual, says }] of Object.entries(LIMITS))
    assert.ok(page.includes(`| \`limits.${limitKey(name)}\` | \`${limitVariable(name)}\` | ${says} | ${usual} |`), name)
})
