import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from '../../src/core/block.ts'
import { replaceText } from '../../src/core/block.ts'
import { searchWords } from '../../src/core/passage.ts'
import { parsePythonSource } from '../../src/core/tool-source.ts'
import { parseTypescriptSource } from '../../src/core/typescript-source.ts'
import { resolveCalls } from '../../src/engine/resolve-calls.ts'
import { type FileMessage, readMessages } from '../../src/http/letta/agent-file/messages.ts'
import { readErrorBody, textOfPage } from '../../src/providers/classify/error-body.ts'
import { answerTo } from '../../src/providers/scripted/friendly-rules.ts'
import { defineTool, success } from '../../src/tools/define-tool.ts'
import { toolRegistry } from '../../src/tools/registry.ts'
import { findDestruction } from '../../src/tools/workspace/destructive-commands.ts'
import { isFullRun } from '../harness/case-count.ts'
import { attacks, growsTooFast } from './grows-too-fast.ts'

// Every entry point that reads text of strangers on the event loop, with texts that grow: at twice the length it must not
// take four times the processor time. A reader with a bound is fast however long the text is.

const registry = toolRegistry([])
const block = { label: 'human', value: '', limit: 1_000_000 } as Block

const checked = (keywords: Record<string, string>) => {
  const inputSchema = { type: 'string', ...keywords } as never
  const tool = defineTool({ name: 'checked', description: '', inputSchema, run: async () => success('') })
  return (text: string) => registry.inputFault(tool, text)
}

type EntryPoint = { read(text: string): unknown; beginnings: string[]; parts: string[] }

const BLANKS = [' ', '\n', '\t', '\r\n', 'x\n', ' \n']
const BRACKETS = ['(', ')', '[', ']', '{', '}', '<', '>', '()', '[]', '{}', '([{', '}])']
const SIGNS = ["'", '"', '`', '\\', '/', '*', ',', ';', ':', '=', '#', '.', '-', '|', '&', '$', '\0', '😀', '\uD83D']
const SHELL = ['$(', '`$(', '<<A\n', '${x', 'find -exec ', 'xargs ', 'env ', 'sudo ', "bash -c '", 'a|', 'a;', '{a,']
const MORE_SHELL = [
  'psql -c "/*" ',
  'echo a | psql ',
  'eval ',
  '-c',
  'c',
  'case x in ',
  'if ',
  'x=',
  'a[1]=',
  '[[ ',
  '((',
  '!(',
]
const PYTHON = [
  'def f(',
  'def f(a: x',
  'def f(a: Optional[',
  'def f(a):\n  """d\n\nArgs:\n  a: b',
  'async ',
  'export function ',
]

const TYPESCRIPT = [
  'export function f(',
  'export function f(a: {',
  'export function f(a: Array<',
  'export const f = <',
  'export function f({',
  '/** @param ',
  'type T = ',
]

const ENTRY_POINTS: Record<string, EntryPoint> = {
  'the source of a Python tool': {
    read: parsePythonSource,
    beginnings: PYTHON,
    parts: ['def ', 'list[', '"""', 'Args:\n'],
  },
  'the source of a TypeScript tool': {
    read: parseTypescriptSource,
    beginnings: TYPESCRIPT,
    parts: ['export ', 'async ', 'a: b, ', 'A | ', '/*', '//', '=>'],
  },
  'a shell command': { read: findDestruction, beginnings: ['', 'bash -c ', 'rm '], parts: [...SHELL, ...MORE_SHELL] },
  'a sentence to the built-in model': {
    read: (text) => answerTo(text, []),
    beginnings: ['run a', 'remember ', 'replace a'],
    parts: ['read ', ' with ', ' in ', 'roll '],
  },
  'a text for a pattern': { read: checked({ pattern: '^(a+)+$|(x+x+)+y' }), beginnings: ['a'], parts: ['a', 'x'] },
  'a text for a look ahead': {
    read: checked({ pattern: '^(?!.*(.)..$)(?=.*a).*b$' }),
    beginnings: ['a'],
    parts: ['a'],
  },
  'a text for a format': { read: checked({ format: 'uri' }), beginnings: ['http://'], parts: ['a', '%', '@', '-'] },
  'an address': { read: checked({ format: 'email' }), beginnings: ['a@'], parts: ['a.', '@', 'a-'] },
  'a block of memory': { read: (text) => replaceText(block, text, ''), beginnings: ['→\n'], parts: ['1', '→'] },
  'a search expression': { read: searchWords, beginnings: ['a'], parts: ['a ', 'é', '"a" OR '] },
  'an error of a provider': {
    read: readErrorBody,
    beginnings: ['{"message":"', 'data: '],
    parts: ['\\', '"message":', '{"a":'],
  },
  'an error page of a provider': { read: textOfPage, beginnings: ['<'], parts: ['<script>', '<a ', '&amp;'] },
}

for (const [name, { read, beginnings, parts }] of Object.entries(ENTRY_POINTS))
  test(`the work on ${name} grows with its length alone`, () => {
    const all = attacks(
      ['', ...beginnings],
      [...parts, ...BLANKS, ...BRACKETS, ...SIGNS],
      isFullRun ? ['', 'y', '\u0001', 'y):\n', "'"] : ['y', 'y):\n'],
    )
    const slow = all.filter(({ inputOf }) => growsTooFast(inputOf, read))
    assert.deepEqual(
      slow.map(({ name: told }) => told),
      [],
    )
  })

const idsFor = (text: string): string[] => Array.from({ length: text.length }, (_, index) => `call-${index}`)

test('the work on an agent file grows with the number of its calls alone', () => {
  const files = new Map<string, FileMessage[]>()
  const inputOf = (count: number) => {
    const ids = idsFor('x'.repeat(count))
    const tool_calls = ids.map((id) => ({ id, function: { name: 'f', arguments: '{}' } }))
    const tool_returns = ids.toReversed().map((id) => ({ tool_call_id: id, status: 'success', func_response: 'r' }))
    files.set(String(count), [{ role: 'assistant', tool_calls } as never, { role: 'tool', tool_returns } as never])
    return String(count)
  }
  assert.equal(
    growsTooFast(inputOf, (key) => readMessages(files.get(key)!)),
    false,
  )
})

test('the work on an answer of a model grows with the number of its calls alone', () => {
  const options = { tools: registry, allowed: [], digest: () => 'd', newCallId: () => 'new' }
  const resolve = (json: string) => (text: string) =>
    resolveCalls(
      idsFor(text).map((callId) => ({ callId: json === '' ? 'same' : callId, tool: 'f', json })),
      options,
    )
  for (const json of ['', '{}'])
    assert.equal(
      growsTooFast((count) => 'x'.repeat(count), resolve(json)),
      false,
      json,
    )
})
