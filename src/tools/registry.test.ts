import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../core/json.ts'
import { defineTool, success } from './define-tool.ts'
import { toolRegistry } from './registry.ts'

const toolWith = (inputSchema: Json, name = 'pack') =>
  defineTool({ name, description: '', inputSchema, run: async () => success('') })

const pack = toolWith({
  type: 'object',
  properties: {
    count: { type: 'integer', minimum: 1, maximum: 9 },
    label: { type: 'string', minLength: 1, maxLength: 3 },
    size: { enum: ['small', 'large'] },
    items: { type: 'array', items: { type: 'string' } },
    weight: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    box: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
  },
  required: ['count'],
  additionalProperties: false,
})
const registry = toolRegistry([pack])

const faults: [Json, string | undefined][] = [
  [{ count: 2, label: 'abc', size: 'small', items: [], weight: null, box: { color: 'red' } }, undefined],
  [{}, '"count" is missing; it must be an integer'],
  [{ count: '2' }, '"count" must be an integer, but it is a string'],
  [{ count: 1.5 }, '"count" must be an integer, but it is a number'],
  [{ count: 0 }, '"count" must be 1 or more'],
  [{ count: 1, label: '' }, '"label" must not be empty'],
  [{ count: 1, label: 'abcd' }, '"label" must have 3 or fewer characters'],
  [{ count: 1, size: 'huge' }, '"size" must be one of "small", "large"'],
  [{ count: 1, items: ['a', 2] }, '"items.1" must be a string, but it is a number'],
  [{ count: 1, weight: 'x' }, '"weight" must be a number or must be null, but it is a string'],
  [{ count: 1, box: {} }, '"box.color" is missing; it must be a string'],
  [
    { count: 1, color: 'red' },
    '"color" is not a known field; known are "count", "label", "size", "items", "weight", "box"',
  ],
  [
    { count: 'x', label: 3 },
    '"count" must be an integer, but it is a string; "label" must be a string, but it is a number',
  ],
  ['count 1', 'the whole input must be an object, but it is a string'],
  [null, 'the whole input must be an object, but it is null'],
]

for (const [input, fault] of faults)
  test(`${JSON.stringify(input)} is ${fault ? `refused: ${fault}` : 'accepted'}`, () => {
    assert.equal(registry.inputFault(pack, input), fault && `Invalid input for pack: ${fault}.`)
    assert.equal(registry.inputFault(pack, input), fault && `Invalid input for pack: ${fault}.`, 'also the second time')
  })

test('a broken schema refuses every input instead of throwing', () => {
  const broken = toolWith({ type: 'object', properties: { a: { type: 'string', pattern: '(' } } })
  assert.match(registry.inputFault(broken, { a: 'x' })!, /schema is broken/)
})

test('a tool that replaces another of the same name is validated by its own schema', () => {
  assert.equal(registry.inputFault(toolWith({ type: 'string' }), 'count 1'), undefined)
})

test('tools are found by name, and inherited property names are not tools', () => {
  assert.equal(registry.find('pack'), pack)
  assert.equal(registry.find('constructor'), undefined)
  assert.deepEqual(registry.names(), ['pack'])
})

test('two tools with the same name are refused', () => {
  assert.throws(() => toolRegistry([pack, toolWith(true)]), /Two tools are named "pack"/)
})
