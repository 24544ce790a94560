import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressFault, effectsOf, hasMasked, headersOf, maskedSecrets, withKept } from './mcp-server.ts'

const kept = { token: 'token-1234567890', headers: { 'x-one': 'value-1234567890', 'x-two': 'other-1234567890' } }

test('only what a server says it may do twice may be done twice', () => {
  assert.equal(effectsOf(undefined), 'once')
  assert.equal(effectsOf({}), 'once')
  assert.equal(effectsOf({ idempotentHint: true }), 'idempotent')
  assert.equal(effectsOf({ readOnlyHint: true, idempotentHint: true }), 'none')
  assert.equal(effectsOf({ readOnlyHint: false, idempotentHint: false }), 'once')
})

test('what is shown of secrets does not give them away, and means the same when it is sent back', () => {
  const shown = maskedSecrets(kept)
  assert.doesNotMatch(JSON.stringify(shown), /1234567/)
  assert.ok(hasMasked(shown))
  assert.deepEqual(withKept(shown, kept), kept)
  const changed = withKept({ headers: { 'x-one': shown.headers!['x-one']!, 'x-three': 'new' } }, kept)
  assert.deepEqual(changed, { headers: { 'x-one': 'value-1234567890', 'x-three': 'new' } })
  assert.ok(!hasMasked(changed))
})

test('a bare token of the usual header is a bearer’s; any other is sent as it is', () => {
  const place = { type: 'sse', url: 'http://127.0.0.1/' } as const
  assert.deepEqual(headersOf(place, { token: 'abc' }), { Authorization: 'Bearer abc' })
  assert.deepEqual(headersOf(place, { token: 'Basic abc' }), { Authorization: 'Basic abc' })
  assert.deepEqual(headersOf({ ...place, authHeader: 'x-key' }, { token: 'abc' }), { 'x-key': 'abc' })
  assert.deepEqual(headersOf(place, { headers: { a: 'b' } }), { a: 'b' })
})

test('an address is http or https and holds no password', () => {
  for (const good of ['http://127.0.0.1:1/mcp', 'https://tools.example/x?y=z'])
    assert.equal(addressFault(good), undefined)
  for (const bad of ['', 'tools.example', 'file:///etc/passwd', 'ftp://a/', 'http://me:secret@a/', 'javascript:1'])
    assert.ok(addressFault(bad), bad)
})
