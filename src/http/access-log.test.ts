import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redact, secretsInEnvironment } from './access-log.ts'

test('a secret is redacted in every encoding it can appear in', () => {
  const odd = ['0d1f9c1e-8a7b-4c11-9d7e-0a1b2c3d4e5f', 'two\nlines "quoted"', 'päss wörd/+=']
  for (const secret of odd) {
    const forms = [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret),
      Buffer.from(secret).toString('base64'),
      Buffer.from(secret).toString('base64url'),
    ]
    for (const form of forms) {
      const clean = redact(`before ${form} after`, odd)
      assert.ok(clean.includes('[secret]') && !clean.includes(form.slice(0, -2)), clean)
    }
  }
})

test('API keys are redacted although they are not listed as secrets, and their public prefix stays readable', () => {
  const prefix = 'hfk-0123456789ab'
  assert.equal(redact(`x=${prefix}-${'f'.repeat(64)}`, []), 'x=[secret]')
  assert.equal(redact(prefix, []), prefix)
})

test('values shorter than a secret are not redacted', () => {
  assert.equal(redact('a test of words', ['test', '']), 'a test of words')
})

test('secrets of an environment are found by variable name and as passwords in URLs', () => {
  const secrets = secretsInEnvironment({
    OPENAI_API_KEY: 'sk-one-of-two, sk-two-of-two',
    DATABASE_URL: 'postgres://me:p%40ssword@db:5432/holdfast',
    HOLDFAST_HOME: '/home/me',
    EMPTY: undefined,
  })
  assert.deepEqual(secrets, ['sk-one-of-two', 'sk-two-of-two', 'p%40ssword', 'p@ssword'])
})
