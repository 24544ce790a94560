import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeIssue, readScript } from './read-script.ts'

const complaintsAbout = (script: unknown): string[] => {
  const read = readScript(typeof script === 'string' ? script : JSON.stringify(script))
  return read.type === 'read' ? [] : read.complaints.map(describeIssue)
}

test('a script with every feature is parsed unchanged', () => {
  const script = [
    {
      when: { model: 'm', attempt: 2, headers: { 'anthropic-beta': 'context-1m' }, hasImages: true },
      times: 2,
      answer: { error: 'grammar' },
    },
    {
      answer: {
        text: 'x',
        breaks: [
          { how: 'pings', everyMs: 5 },
          { how: 'reset', atByte: 3 },
        ],
        usage: 'none',
      },
    },
    { answer: { calls: [{ name: 'a', arguments: [1, null] }], usage: { input: 1 }, breaks: { how: 'no-finish' } } },
    { answer: { status: 204 } },
    { answer: { line: 'refuse', forMs: 100 } },
    { answer: {} },
  ]
  assert.deepEqual(readScript(JSON.stringify(script)), { type: 'read', script })
})

test('a mistake is reported with its path, the expected and the found value', () => {
  assert.deepEqual(complaintsAbout([{ when: { model: 3 }, answer: { text: 'a' } }]), [
    'script[0].when.model: expected text, found 3',
  ])
  assert.match(
    complaintsAbout([{ times: 0, answer: {} }])[0]!,
    /^script\[0\]\.times: expected a whole number from 1, found 0$/,
  )
  assert.match(complaintsAbout([{ when: {} }])[0]!, /^script\[0\]\.answer: expected .*found nothing$/)
  assert.match(
    complaintsAbout([{ answer: { txet: 'a' } }])[0]!,
    /^script\[0\]\.answer\.txet: expected one of these fields: text,/,
  )
  assert.match(
    complaintsAbout([{ answer: { error: 'rate-limited' } }])[0]!,
    /\.answer\.error: expected one of "rate-limit"/,
  )
  assert.match(complaintsAbout([{ answer: { line: 'refuse' } }])[0]!, /\.answer\.forMs: expected .* found nothing/)
  assert.match(
    complaintsAbout([{ answer: { breaks: [{ how: 'explode' }] } }])[0]!,
    /breaks\[0\]: expected an object whose "how" is/,
  )
  assert.match(complaintsAbout({ rules: [] })[0]!, /^script: expected a list/)
  assert.match(complaintsAbout('[{')[0]!, /^the file: expected JSON, found /)
})

test('a mistake inside an answer names the rule, the field and the value', () => {
  const rules = [
    { answer: { text: 'fine' } },
    { when: { protocol: 'embeddings' }, answer: { status: 200, body: null } },
    { answer: { calls: [{ arguments: 1 }], breaks: [{ how: 'reset', atByte: -1 }], usage: 'some' } },
    { answer: { line: 'sing' } },
  ]
  assert.deepEqual(complaintsAbout(rules), [
    'script[2].answer.calls[0].name: expected text, found nothing',
    'script[2].answer.usage: expected an object of token numbers, or "none", found "some"',
    'script[2].answer.breaks[0].atByte: expected a whole number from 0, found -1',
    'script[3].answer.line: expected one of "silent", "reset", "cut", "refuse", found "sing"',
  ])
})

test('every mistake is reported, not only the first', () => {
  assert.equal(complaintsAbout([{ answer: 1 }, { when: { streams: 'yes', attempt: 1.5 }, answer: {} }]).length, 3)
})
