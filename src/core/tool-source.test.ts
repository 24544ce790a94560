import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePythonSource } from './tool-source.ts'

const SOURCE = `
import os

def helper(x):
    return x

def roll(sides: int, labels: Optional[List[str]] = None, mode: Literal["a", "b"] = "a", note="x, (y"):
    """
    Rolls a die
    of any size.

    Args:
        sides (int): How many sides it has.
        labels: Names of the sides.

    Returns:
        str: what came up
    """
    def inner(): pass
    return "(" + str(sides)
`

test('the last top-level function is the tool, and its docstring and annotations are the schema', () => {
  assert.deepEqual(parsePythonSource(SOURCE), {
    type: 'read',
    name: 'roll',
    description: 'Rolls a die of any size.',
    parameters: {
      type: 'object',
      properties: {
        sides: { type: 'integer', description: 'How many sides it has.' },
        labels: { type: 'array', items: { type: 'string' }, description: 'Names of the sides.' },
        mode: { type: 'string', enum: ['a', 'b'] },
        note: { type: 'string' },
      },
      required: ['sides'],
    },
  })
})

test('a source without a function or with an unclosed parameter list is refused with the reason', () => {
  assert.equal(parsePythonSource('x = 1').type, 'unreadable')
  assert.equal(parsePythonSource('def f(a: "').type, 'unreadable')
})
