import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { defined } from '../../core/defined.ts'
import type { Failure, FailureKind } from '../../core/failure.ts'
import type { Refusal } from '../wire/dialect.ts'
import { classify } from './classify.ts'
import { CODES_WITHOUT_STATUS, DECISIVE_CODES, GENERAL_CODES } from './codes.ts'

type Case = {
  name: string
  provider: string
  status?: number
  headers: Record<string, string>
  /** A JSON body, or the text of any other body. */
  body: unknown
  expect: { kind: FailureKind } & Partial<Omit<Failure, 'kind'>>
  why: string
}

const CORPUS = new URL('./corpus/', import.meta.url)
const AT = Date.parse('2026-03-01T00:00:00Z')
const STATED = ['retryAfterMs', 'statedWindow', 'availableOutput', 'maxImageSide'] as const

const corpus = readdirSync(CORPUS).map((file) => ({
  family: file.replace('.json', ''),
  cases: JSON.parse(readFileSync(new URL(file, CORPUS), 'utf8')) as Case[],
}))
const cases = corpus.flatMap((family) => family.cases)

for (const family of corpus) {
  for (const sample of family.cases) {
    test(`${family.family}: ${sample.name} is ${sample.expect.kind}: ${sample.why}`, () => {
      const failure = classify(responseOf(sample))
      assert.equal(failure.kind, sample.expect.kind, failure.detail)
      for (const field of STATED) assert.equal(failure[field], sample.expect[field], field)
      assertReadable(failure)
    })
  }
}

test('the corpus has at least 180 cases, each with a unique name and a reason', () => {
  assert.ok(cases.length >= 180, String(cases.length))
  for (const { family, cases } of corpus)
    assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length, family)
  for (const { name, why } of cases) assert.ok(why.length > 0 && !why.includes('\n'), name)
})

/** Kinds that only a decoder, a socket or a credential pool can report. */
const NOT_FROM_A_RESPONSE: readonly FailureKind[] = [
  'stalled',
  'cut-off',
  'certificate-rejected',
  'cooling-down',
  'empty-answer',
  'thinking-only',
  'thinking-exhausted',
  'text-truncated',
  'call-truncated',
  'model-not-allowed',
  'spending-limit',
]

test('every kind that a response can cause has at least three cases, and no other kind has any', async () => {
  const { ENDING_OF_FAILURE } = await import('../../core/failure.ts')
  for (const kind of Object.keys(ENDING_OF_FAILURE) as FailureKind[]) {
    const count = cases.filter(({ expect }) => expect.kind === kind).length
    if (NOT_FROM_A_RESPONSE.includes(kind)) assert.equal(count, 0, kind)
    else assert.ok(count >= 3, `${kind} has ${count}`)
  }
})

test('a decisive code is enough when the message says nothing', () => {
  const tables: [Readonly<Record<string, FailureKind>>, readonly (number | undefined)[]][] = [
    [DECISIVE_CODES, [400, 403, 429, 500, undefined]],
    [GENERAL_CODES, [400, 403, 429, 500, undefined]],
    [CODES_WITHOUT_STATUS, [undefined]],
  ]
  for (const [table, statuses] of tables) {
    for (const [code, kind] of Object.entries(table)) {
      for (const status of statuses) {
        const body = JSON.stringify({ error: { code: code.toUpperCase(), message: 'No.' } })
        const failure = classify(response({ ...defined({ status }), body }))
        assert.deepEqual([failure.kind, failure.code], [kind, code], `${code} with ${status}`)
      }
    }
  }
})

test('a JSON body reads the same with other spacing, as an event, and inside the message of a proxy', () => {
  for (const sample of cases) {
    if (typeof sample.body === 'string') continue
    const response = responseOf(sample)
    const kind = sample.expect.kind
    assert.equal(classify({ ...response, body: JSON.stringify(sample.body, null, 4) }).kind, kind, sample.name)
    assert.equal(classify({ ...response, body: `event: error\ndata: ${response.body}\n\n` }).kind, kind, sample.name)
    const relayed = JSON.stringify({ error: { message: response.body, code: sample.status ?? 'unknown' } })
    assert.equal(classify({ ...response, body: relayed }).kind, kind, `${sample.name} through a relay`)
  }
})

test('no rate limit, memory or parameter text is classified as a context overflow', () => {
  const innocent = [
    'Rate limit reached: 90000 tokens exceed the maximum context of your minute',
    'CUDA out of memory while allocating the context window, maximum exceeded',
    "Unsupported parameter: 'max_tokens' exceeds the maximum context length",
    'context deadline exceeded',
    'Bad Request',
    'tokens',
  ]
  for (const status of [400, 413, 422, 429, 500, 502, 503, 529, undefined]) {
    for (const message of innocent) {
      const failure = classify(
        response({ ...defined({ status: status || undefined }), body: JSON.stringify({ error: { message } }) }),
      )
      assert.notEqual(failure.kind, 'context-overflow', `${status}: ${message}`)
    }
  }
})

test('a stated wait is never negative, never above a week, and absent for failures that do not pass', () => {
  const anyDate = fc.date({ noInvalidDate: true }).map((date) => date.toUTCString())
  const waits = fc.oneof(anyDate, fc.double().map(String), fc.integer().map(String), fc.string())
  fc.assert(
    fc.property(waits, waits, fc.constantFrom(429, 503, 500, 402, 400, 401), (after, reset, status) => {
      const headers = { 'retry-after': after, 'x-ratelimit-reset': reset, 'anthropic-ratelimit-tokens-reset': reset }
      const body = JSON.stringify({ error: { message: 'no', resets_at: reset, retryDelay: after } })
      const { retryAfterMs, kind } = classify(response({ status, headers, body, at: AT }))
      assert.ok(retryAfterMs === undefined || (retryAfterMs >= 0 && retryAfterMs <= 604_800_000), String(retryAfterMs))
      if (kind === 'auth-rejected' || kind === 'invalid-request') assert.equal(retryAfterMs, undefined)
    }),
  )
})

test('without a local time the date header is used, and without either a stated date is ignored', () => {
  const headers = { 'retry-after': 'Sun, 01 Mar 2026 00:01:30 GMT' }
  assert.equal(classify(response({ status: 429, headers })).retryAfterMs, undefined)
  const dated = { ...headers, Date: 'Sun, 01 Mar 2026 00:01:00 GMT' }
  assert.equal(classify(response({ status: 429, headers: dated })).retryAfterMs, 30_000)
})

test('the code, the request id and whether it may have been accepted are kept', () => {
  const failure = classify(
    response({
      status: 500,
      headers: { 'X-Request-Id': 'req_1' },
      body: '{"error":{"code":"oops","type":"server_error","message":"Oops"}}',
    }),
  )
  assert.deepEqual(failure, {
    kind: 'server-error',
    detail: 'Oops',
    status: 500,
    code: 'oops',
    requestId: 'req_1',
    mayHaveBeenAccepted: true,
  })
  assert.equal(classify(response({ status: 429 })).mayHaveBeenAccepted, undefined)
  const event = classify(response({ body: '{"type":"error","error":{"type":"api_error"},"request_id":"req_2"}' }))
  assert.deepEqual([event.requestId, event.code], ['req_2', 'api_error'])
})

test("the detail is the provider's message on one line, without markup and without JSON", () => {
  const page = '<html><head><title>502 Bad\nGateway</title><style>b{}</style></head><body><b>x</b></body></html>'
  assert.equal(classify(response({ status: 502, body: page })).detail, '502 Bad Gateway (a web page)')
  const inner = {
    error: {
      message: 'Provider returned error',
      metadata: { raw: '{"error":{"message":"Nope"}}', provider_name: 'P' },
    },
  }
  assert.equal(
    classify(response({ status: 400, body: JSON.stringify(inner) })).detail,
    'Provider returned error: Nope (from P)',
  )
  assert.equal(classify(response({ status: 503 })).detail, 'HTTP 503 with an empty body')
  assert.ok(classify(response({ status: 400, body: 'no '.repeat(5_000) })).detail.length <= 500)
})

test('no input makes it throw, and every result is a complete failure', () => {
  const status = fc.option(fc.integer({ min: -1, max: 1_000 }), { nil: undefined })
  const headers = fc.dictionary(fc.string(), fc.string())
  const truncated = fc.json().chain((json) => fc.nat(json.length).map((end) => json.slice(0, end)))
  const corpusBody = fc
    .constantFrom(...cases.map((sample) => responseOf(sample).body))
    .chain((body) => fc.nat(body.length).map((end) => body.slice(0, end)))
  const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array).toString('latin1'))
  const body = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), truncated, corpusBody, bytes)
  fc.assert(
    fc.property(status, headers, body, (status, headers, body) => {
      assertReadable(classify(response({ ...defined({ status }), headers, body, at: AT })))
    }),
    { numRuns: 1_000 },
  )
})

test('deep, wide and very long bodies are read quickly', () => {
  const deep = '{"error":'.repeat(20_000) + '1' + '}'.repeat(20_000)
  const wide = JSON.stringify({ errors: Array.from({ length: 50_000 }, (_, index) => ({ message: `no ${index}` })) })
  const nested = Array.from({ length: 12 }).reduce<string>((body) => JSON.stringify({ error: { message: body } }), 'x')
  const bodies = [
    deep,
    wide,
    nested,
    'a'.repeat(2_000_000),
    '<script'.repeat(200_000),
    '"message":"\\'.repeat(50_000),
    '1m'.repeat(100_000),
  ]
  const start = process.cpuUsage()
  for (const body of bodies) assertReadable(classify(response({ status: 429, body })))
  // Far above the normal time (tens of milliseconds); quadratic reading takes minutes.
  assert.ok(process.cpuUsage(start).user < 10_000_000)
})

test('nothing that looks like a key appears in a failure, wherever the vendor puts it', () => {
  const letters = fc.string({ unit: fc.constantFrom(...'ABCDEFGHabcdefgh0123456789'), minLength: 24, maxLength: 60 })
  const prefix = fc.constantFrom(
    'sk-',
    'sk-proj-',
    'sk-ant-api03-',
    'sk-or-v1-',
    'AIza',
    'gsk_',
    'xai-',
    'hf_',
    'ghp_',
    'github_pat_',
    'nvapi-',
    'pplx-',
    'AKIA',
    'eyJ',
    'Bearer ',
    'api_key=',
    'https://example.com/v1?key=',
    '"Authorization": "',
  )
  const place = fc.constantFrom<(secret: string) => string>(
    (secret) => JSON.stringify({ error: { message: `Incorrect API key provided: ${secret}. Find it elsewhere.` } }),
    (secret) => JSON.stringify({ error: { message: 'no', code: secret } }),
    (secret) => JSON.stringify({ error: `(${secret})`, request_id: secret }),
    (secret) => `<html><title>${secret}</title><body>${secret}</body></html>`,
    (secret) => `invalid key ${secret}`,
    (secret) => `{"error":{"message":"cut off ${secret}`,
    (secret) => JSON.stringify({ error: { message: `${'x '.repeat(240)}${secret}` } }),
  )
  fc.assert(
    fc.property(prefix, letters, place, (prefix, secret, place) => {
      const failure = classify(response({ status: 401, body: place(`${prefix}${secret}`) }))
      const text = JSON.stringify(failure).toLowerCase()
      assert.ok(!text.includes(secret.slice(0, 10).toLowerCase()), text)
    }),
    { numRuns: 500 },
  )
})

function assertReadable(failure: Failure): void {
  assert.ok(failure.detail.length > 0 && failure.detail.length <= 500, failure.detail)
  assert.doesNotMatch(failure.detail, /[\r\n]|<\/?(?:html|body|div|title|h1|script)\b/i)
  assert.doesNotMatch(failure.detail, /sk-[\w*-]{8}|AIza\w{8}|gsk_\w{8}/)
  for (const field of STATED) assert.ok(failure[field] === undefined || Number.isFinite(failure[field]), field)
}

function responseOf({ provider, status, headers, body }: Case): Refusal {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return response({ provider, ...defined({ status }), headers, body: text, at: AT })
}

function response(fields: Partial<Refusal>): Refusal {
  return { provider: 'custom', model: 'some-model', headers: {}, body: '', ...fields }
}
