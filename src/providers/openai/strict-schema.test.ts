import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../core/json.ts'
import { permitsStrict, strictSchema } from './strict-schema.ts'

test('a strict schema closes every object and requires every property; optional ones become nullable', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      must: { type: 'string', minLength: 2, default: 'x' },
      may: { enum: ['a', 'b'], type: 'string' },
      list: { type: 'array', items: { type: 'object', properties: { inner: { $ref: '#/$defs/thing' } } } },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    },
    required: ['must'],
    $defs: { thing: { type: 'object', properties: {}, additionalProperties: false } },
  }
  assert.deepEqual(strictSchema(schema), {
    type: 'object',
    properties: {
      must: { type: 'string' },
      may: { enum: ['a', 'b', null], type: ['string', 'null'] },
      list: {
        type: ['array', 'null'],
        items: {
          type: 'object',
          properties: { inner: { anyOf: [{ $ref: '#/$defs/thing' }, { type: 'null' }] } },
          required: ['inner'],
          additionalProperties: false,
        },
      },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
    },
    required: ['must', 'may', 'list', 'either'],
    $defs: { thing: { type: 'object', properties: {}, required: [], additionalProperties: false } },
    additionalProperties: false,
  })
})

test('a schema with free keys, or with keywords that strict mode lacks, cannot be strict', () => {
  const open: Json[] = [
    { type: 'object' },
    { type: 'object', additionalProperties: true },
    { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
    { type: 'object', properties: { a: { type: 'object' } } },
    { type: 'object', properties: { a: { oneOf: [{ type: 'string' }] } } },
    { type: 'array', items: { type: 'object' } },
    { anyOf: [{ type: 'object' }] },
    { allOf: [] },
    true,
  ]
  for (const schema of open) assert.equal(strictSchema(schema), undefined, JSON.stringify(schema))
})

test('only a schema that meets the demands as it is permits a strict answer', () => {
  const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  assert.equal(permitsStrict(closed), true)
  assert.equal(permitsStrict({ ...closed, required: [] }), false)
  assert.equal(permitsStrict({ ...closed, description: 'A place.' }), true)
})
