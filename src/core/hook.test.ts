import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { faultInTemplate, type HookScheme, renderTemplate } from './hook.ts'
import { verifyHook } from './hook-signature.ts'

const NOW = 1_700_000_000_000
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const TEXT = '{"id":"evt_1","type":"paid","title":"é"}'
const tools = {
  hmac: (key: Uint8Array, data: Uint8Array) => createHmac('sha256', key).update(data).digest('base64'),
  digest: (text: string) => createHash('sha256').update(text).digest('hex'),
}
const hex = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex')

type Sent = { text?: string; at?: number }

/** What real senders put into their headers. */
const SENDERS: Record<HookScheme, (sent?: Sent) => Record<string, string>> = {
  standard: ({ text = TEXT, at = NOW } = {}) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(at / 1_000),
    'webhook-signature': `v1,AAAA ${new Webhook(SECRET).sign('msg_1', new Date(at), text)}`,
  }),
  github: ({ text = TEXT } = {}) => ({
    'x-hub-signature-256': `sha256=${hex(SECRET, text)}`,
    'x-github-delivery': '72d3162e',
    'x-github-event': 'paid',
  }),
  stripe: ({ text = TEXT, at = NOW } = {}) => ({
    'stripe-signature': `t=${at / 1_000},v1=${hex(SECRET, `${at / 1_000}.${text}`)},v0=6ffbb59b`,
  }),
  hmac: ({ text = TEXT } = {}) => ({ 'x-signature': hex(SECRET, text).toUpperCase() }),
}

const verify = (scheme: HookScheme, headers: Record<string, string>, { text = TEXT, secrets = [SECRET] } = {}) =>
  verifyHook(
    { headers, bytes: Buffer.from(text), body: JSON.parse(text) },
    { scheme, signatureHeader: 'x-signature' },
    { ...tools, secrets, now: NOW },
  )

for (const scheme of Object.keys(SENDERS) as HookScheme[])
  test(`a request signed as ${scheme} is valid, and not with another body, secret, or none`, () => {
    const headers = SENDERS[scheme]()
    const valid = verify(scheme, headers)
    assert.equal(valid.type, 'valid')
    assert.equal(valid.type === 'valid' && (scheme === 'hmac' || valid.event), scheme === 'hmac' || 'paid')
    assert.equal(verify(scheme, headers, { secrets: ['another-secret', SECRET] }).type, 'valid')
    assert.equal(verify(scheme, headers, { text: TEXT.replace('paid', 'free') }).type, 'invalid')
    for (const secrets of [['another-secret'], [''], []])
      assert.equal(verify(scheme, headers, { secrets }).type, 'invalid')
    assert.match(JSON.stringify(verify(scheme, {})), /The header [a-z0-9-]+ is missing\./)
  })

for (const scheme of ['standard', 'stripe'] as const)
  test(`a request signed as ${scheme} is refused after five minutes, although its signature is right`, () => {
    assert.equal(verify(scheme, SENDERS[scheme]({ at: NOW - 299_000 })).type, 'valid')
    for (const at of [NOW - 301_000, NOW + 301_000])
      assert.match(JSON.stringify(verify(scheme, SENDERS[scheme]({ at }))), /more than five minutes/)
    const unsigned = { ...SENDERS[scheme](), 'webhook-timestamp': '1e99' }
    assert.equal(verify('standard', unsigned).type, 'invalid')
  })

test('the same body is the same delivery where no signature covers the delivery id', () => {
  const first = verify('github', SENDERS.github())
  const forged = verify('github', { ...SENDERS.github(), 'x-github-delivery': 'another' })
  assert.ok(first.type === 'valid' && forged.type === 'valid' && first.key === forged.key)
  assert.notEqual(first.deliveryId, forged.deliveryId)
})

test('a template takes fields of the body, the event and headers, and says what is not there', () => {
  const values = {
    body: { issue: { title: 'Broken', labels: ['a'] }, empty: null },
    event: 'issues',
    headers: { 'x-one': '1', authorization: 'secret' },
  }
  const text = (template: string) => renderTemplate(template, values)
  assert.deepEqual(text('{{event}}: {{ body.issue.title }} {{body.issue.labels.0}}{{headers.X-One}}'), {
    type: 'text',
    text: 'issues: Broken a1',
  })
  assert.deepEqual(text('{{body.issue}}{{body.who?}}'), { type: 'text', text: '{"title":"Broken","labels":["a"]}' })
  for (const name of [
    'body.who.name',
    'body.empty',
    'body.__proto__',
    'body.issue.title.length',
    'headers.authorization',
  ])
    assert.deepEqual(text(`x {{${name}}}`), {
      type: 'fault',
      reason: `The template names {{${name}}}, which the delivery does not have.`,
    })
  assert.match(JSON.stringify(text('{{body.who?}}')), /empty message/)
  assert.equal(faultInTemplate('Hello {{body.a-b.0?}} {{event}} {{headers.x-y}} { not }'), undefined)
  for (const bad of [
    '',
    ' ',
    '{{who}}',
    '{{body.}}',
    '{{body|upper}}',
    '{{event.x}}',
    '{{headers}}',
    'x'.repeat(20_001),
  ])
    assert.notEqual(faultInTemplate(bad), undefined, bad.slice(0, 20))
})
