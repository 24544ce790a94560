import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from './json.ts'
import { parseResponseFormat } from './response-format.ts'

const schema = { type: 'object', properties: {} }

test('a schema is read with a name around it and without; the name becomes one that vendors accept', () => {
  const formats: [Json, Json][] = [
    [
      { name: 'place', schema, strict: false, description: 'Where.' },
      { name: 'place', schema, strict: false, description: 'Where.' },
    ],
    [
      { ...schema, title: 'A place!' },
      { name: 'A_place_', schema: { ...schema, title: 'A place!' } },
    ],
    [schema, { name: 'answer', schema }],
    [
      { name: 'x'.repeat(80), schema },
      { name: 'x'.repeat(64), schema },
    ],
  ]
  for (const [json_schema, read] of formats)
    assert.deepEqual(parseResponseFormat({ type: 'json_schema', json_schema }), {
      type: 'json-schema',
      ...(read as object),
    })
})

test('what is no format is not read as one', () => {
  const odd: Json[] = [
    null,
    'json',
    {},
    { type: 'xml' },
    { type: 'json_schema' },
    { type: 'json_schema', json_schema: {} },
  ]
  for (const one of [...odd, { type: 'json_schema', json_schema: { name: 'place' } }])
    assert.equal(parseResponseFormat(one), undefined, JSON.stringify(one))
})
