import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTypescriptSource, positionalParameters } from './typescript-source.ts'

const read = (source: string) => {
  const parsed = parseTypescriptSource(source)
  assert.equal(parsed.type, 'read', JSON.stringify(parsed))
  return parsed as Extract<typeof parsed, { type: 'read' }>
}

test('the schema of a TypeScript tool comes from its types and its comment', () => {
  const { name, description, parameters } = read(`
import { readFileSync } from 'node:fs' // not ( this
type Unit = 'metric' | 'imperial'
interface Place { city: string; zip?: number, tags: string[] }

/**
 * Tells the weather.
 * In one line.
 * @param place - where it is
 * @param {number} [days] how many days
 */
export async function weather(
  place: Place, // a comment, with a comma
  days: number = 3,
  unit?: Unit | null,
  options: { verbose: boolean; at: Array<Record<string, number>> } = { verbose: true, at: [] },
  call: (x: number) => void = () => {},
): Promise<string> { return '' }
function helper() {}
`)
  assert.equal(name, 'weather')
  assert.equal(description, 'Tells the weather. In one line.')
  assert.deepEqual(parameters.required, ['place'])
  assert.deepEqual(parameters.properties, {
    place: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        zip: { type: 'number' },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['city', 'tags'],
      description: 'where it is',
    },
    days: { type: 'number', description: 'how many days' },
    unit: { type: 'string', enum: ['metric', 'imperial'] },
    options: {
      type: 'object',
      properties: { verbose: { type: 'boolean' }, at: { type: 'array', items: { type: 'object' } } },
      required: ['verbose', 'at'],
    },
    call: {},
  })
})

test('a tool may take one object, be an arrow function, and be JavaScript', () => {
  const one = read('export function add({ a, b = 2 }: { a: number; b?: number }) { return a + b }')
  assert.deepEqual(one.parameters, {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a'],
  })
  assert.equal(positionalParameters('export function add({ a, b = 2 }: { a: number; b?: number }) {}', 'add'), 'object')
  assert.deepEqual(read('export const join = async <T,>(left: T, right: string) => left').parameters.required, [
    'left',
    'right',
  ])
  assert.deepEqual(read('export function plain(a, b = 1) {}').parameters, {
    type: 'object',
    properties: { a: {}, b: {} },
    required: ['a'],
  })
  assert.deepEqual(positionalParameters('function inner(a: string, b?: number) {}', 'inner'), ['a', 'b'])
})

test('what cannot be read is said', () => {
  assert.deepEqual(parseTypescriptSource('const a = 1'), {
    type: 'unreadable',
    reason: 'it exports no function (`export function name(...)`)',
  })
  assert.equal(parseTypescriptSource('export function open(a: string').type, 'unreadable')
})
