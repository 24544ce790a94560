import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FailureKind } from '../../src/core/failure.ts'
import { DIALECTS } from '../../src/core/message.ts'
import { classify } from '../../src/providers/classify/classify.ts'
import type { ErrorName } from '../../src/simulator/error-table.ts'
import type { ModelProtocol } from '../../src/simulator/script.ts'
import { vendorError } from '../../src/simulator/vendor-errors.ts'

/** The failure kind of each simulated error: a scenario that scripts an error relies on it. */
const KIND_OF_ERROR: Record<ErrorName, FailureKind> = {
  'rate-limit': 'rate-limited',
  'rate-limit-with-retry-after': 'rate-limited',
  overloaded: 'overloaded',
  'overloaded-as-429': 'overloaded',
  'insufficient-quota': 'quota-exhausted',
  'payment-required': 'quota-exhausted',
  'payment-window': 'rate-limited',
  'invalid-key': 'auth-rejected',
  revoked: 'auth-rejected',
  expired: 'auth-rejected',
  forbidden: 'auth-rejected',
  'context-overflow': 'context-overflow',
  'context-overflow-with-window': 'context-overflow',
  'output-cap': 'output-cap-too-large',
  'unknown-parameter': 'invalid-request',
  'signature-rejected': 'signature-rejected',
  'encrypted-rejected': 'encrypted-reasoning-rejected',
  'image-too-large': 'image-too-large',
  'image-corrupt': 'image-rejected',
  'tool-image': 'tool-images-unsupported',
  grammar: 'grammar-rejected',
  'long-context-beta': 'long-context-beta-refused',
  'long-context-tier': 'long-context-refused',
  'model-not-found': 'model-unknown',
  'content-policy': 'content-refused',
  'payload-too-large': 'payload-too-large',
  'invalid-request': 'invalid-request',
  'server-error': 'server-error',
  'html-502': 'server-error',
  'html-200': 'malformed-answer',
  'policy-blocked': 'policy-blocked',
  'upstream-429': 'upstream-rate-limited',
  'gateway-timeout': 'timeout',
}

const failureOf = (error: ErrorName, protocol: ModelProtocol) => {
  const { status, headers, body } = vendorError({ error }, { protocol, model: 'm', number: 1 })
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return classify({ provider: protocol, model: 'm', status, headers, body: text })
}

for (const [name, kind] of Object.entries(KIND_OF_ERROR) as [ErrorName, FailureKind][])
  test(`"${name}" is classified as ${kind} in every protocol`, () => {
    for (const protocol of DIALECTS) assert.equal(failureOf(name, protocol).kind, kind, protocol)
  })

test('values in an error are parsed: the wait, the window, the remaining output, the image size', () => {
  for (const protocol of DIALECTS) {
    assert.equal(failureOf('rate-limit-with-retry-after', protocol).retryAfterMs, 2000, protocol)
    assert.equal(failureOf('context-overflow-with-window', protocol).statedWindow, 8192, protocol)
    assert.equal(failureOf('output-cap', protocol).availableOutput, 1024, protocol)
    assert.equal(failureOf('image-too-large', protocol).maxImageSide, 8000, protocol)
  }
})
