import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  effectsFromHints,
  hasMaskedValue,
  maskedSecrets,
  requestHeaders,
  restoreMaskedSecrets,
  urlFault,
} from './mcp-server.ts'

const kept = { token: 'token-1234567890', headers: { 'x-one': 'value-1234567890', 'x-two': 'other-1234567890' } }

test('a tool may be repeated only if its server hints that it is read-only or idempotent', () => {
  assert.equal(effectsFromHints(undefined), 'once')
  assert.equal(effectsFromHints({}), 'once')
  assert.equal(effectsFromHints({ idempotentHint: true }), 'idempotent')
  assert.equal(effectsFromHints({ readOnlyHint: true, idempotentHint: true }), 'none')
  assert.equal(effectsFromHints({ readOnlyHint: false, idempotentHint: false }), 'once')
})

test('masked secrets do not reveal the values, and sending them back keeps the stored values', () => {
  const shown = maskedSecrets(kept)
  assert.doesNotMatch(JSON.stringify(shown), /1234567/)
  assert.ok(hasMaskedValue(shown))
  assert.deepEqual(restoreMaskedSecrets(shown, kept), kept)
  const changed = restoreMaskedSecrets({ headers: { 'x-one': shown.headers!['x-one']!, 'x-three': 'new' } }, kept)
  assert.deepEqual(changed, { headers: { 'x-one': 'value-1234567890', 'x-three': 'new' } })
  assert.ok(!hasMaskedValue(changed))
})

test('a token without a scheme in Authorization is sent as a bearer token; any other is sent unchanged', () => {
  const transport = { type: 'sse', url: 'http://127.0.0.1/' } as const
  assert.deepEqual(requestHeaders(transport, { token: 'abc' }), { Authorization: 'Bearer abc' })
  assert.deepEqual(requestHeaders(transport, { token: 'Basic abc' }), { Authorization: 'Basic abc' })
  assert.deepEqual(requestHeaders({ ...transport, authHeader: 'x-key' }, { token: 'abc' }), { 'x-key': 'abc' })
  assert.deepEqual(requestHeaders(transport, { headers: { a: 'b' } }), { a: 'b' })
})

test('a server URL is http or https and contains no password', () => {
  for (const good of ['http://127.0.0.1:1/mcp', 'https://tools.example/x?y=z']) assert.equal(urlFault(good), undefined)
  for (const bad of ['', 'tools.example', 'file:///etc/passwd', 'ftp://a/', 'http://me:secret@a/', 'javascript:1'])
    assert.ok(urlFault(bad), bad)
})
