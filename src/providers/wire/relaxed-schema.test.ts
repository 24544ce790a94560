import assert from 'node:assert/strict'
import { test } from 'node:test'
import { relaxedSchema } from './relaxed-schema.ts'

test('constraints that grammars cannot express are dropped at every depth', () => {
  const schema = {
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'string', pattern: '^a', format: 'uri' }, uniqueItems: true } },
    anyOf: [{ not: { type: 'null' }, required: ['list'] }],
  }
  assert.deepEqual(relaxedSchema(schema), {
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'string' } } },
    anyOf: [{ required: ['list'] }],
  })
})

test('properties and values with the name of a constraint are kept', () => {
  const schema = {
    properties: { pattern: { type: 'string' }, not: { enum: ['format', { pattern: 'x' }] } },
    required: ['pattern'],
    default: { format: 'kept' },
    $defs: { if: { type: 'string', format: 'date' } },
  }
  assert.deepEqual(relaxedSchema(schema), { ...schema, $defs: { if: { type: 'string' } } })
})
