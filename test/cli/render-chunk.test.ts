import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verdictOf } from '../../src/cli/chat/ask-approval.ts'
import { NEW_RENDER_STATE, type Piece, renderChunk } from '../../src/cli/render/chunk.ts'
import { type Look, newScreen, PLAIN, safeText } from '../../src/cli/terminal.ts'
import type { Chunk } from '../../src/core/chunk.ts'

const look: Look = { paint: PLAIN, canRedraw: false, width: 80 }
const id = 'message-1'
const text = (content: string): Chunk => ({ message_type: 'assistant_message', id, content })
const call = (name: string, json: string): Chunk => ({
  message_type: 'tool_call_message',
  id,
  tool_calls: [{ tool_call_id: 'call-1', name, arguments: json }],
})

function shown(chunks: Chunk[], on: Look = look, to?: Piece['to']): string {
  let state = NEW_RENDER_STATE
  let screen = ''
  for (const chunk of chunks) {
    const rendered = renderChunk(state, chunk, on)
    state = rendered.state
    for (const piece of rendered.pieces) if (!to || piece.to === to) screen += piece.text
  }
  return screen
}

test('answer text continues its line, and everything else gets its own lines', () => {
  const chunks: Chunk[] = [
    { message_type: 'reasoning_message', id, reasoning: 'hm, ' },
    { message_type: 'reasoning_message', id, reasoning: 'well' },
    text('Let me '),
    text('look.'),
    call('clock', '{}'),
    {
      message_type: 'tool_return_message',
      id,
      name: 'clock',
      tool_return: { tool_call_id: 'call-1', status: 'success', tool_return: 'noon' },
    },
    text('It is noon.'),
    { message_type: 'stop_reason', stop_reason: 'end_turn' },
    { message_type: 'done' },
  ]
  assert.equal(shown(chunks), 'thinking: hm, well\nLet me look.\n  → clock\n  ✓ clock: noon\nIt is noon.\n')
  assert.equal(shown(chunks, look, 'answer'), 'Let me look.\nIt is noon.\n')
})

test('progress is one overwritten line on a terminal and separate lines elsewhere', () => {
  const progress = (words: string): Chunk => ({ message_type: 'tool_progress', tool_call_id: 'call-1', text: words })
  const chunks = [call('count', '{"to":2}'), progress('1 of 2'), progress('2 of 2'), text('Done.')]
  assert.equal(shown(chunks), '  → count {"to":2}\n  … count: 1 of 2\n  … count: 2 of 2\nDone.')
  const redrawn = shown(chunks, { ...look, canRedraw: true })
  assert.equal(redrawn, '  → count {"to":2}\n  … count: 1 of 2\r\x1b[K  … count: 2 of 2\r\x1b[KDone.')
})

test('discarded text is marked, and failures show the remedy', () => {
  const screen = shown([
    text('Once there w'),
    { message_type: 'message_reset', id, reason: 'interrupted' },
    { message_type: 'attempt_failed', target: 'a/b', kind: 'overloaded', detail: 'busy', remedy: 'next-target' },
    { message_type: 'error_message', error_type: 'llm_error', message: 'The model is overloaded.', detail: 'busy' },
  ])
  assert.match(screen, /^Once there w\n {2}↺ The text above was discarded: the process that was writing it stopped/)
  assert.match(screen, /! a\/b failed \(overloaded\): busy\. Failing over to the next model in the chain\.\n/)
  assert.match(screen, /✗ The model is overloaded\. \(busy\)\n$/)
})

test('an approval shows every argument in full', () => {
  const long = 'x'.repeat(5_000)
  const asked: Chunk = {
    message_type: 'approval_request_message',
    id,
    tool_calls: [
      { tool_call_id: 'call-1', name: 'send', arguments: JSON.stringify({ to: 'Ada', text: long, copies: 2 }) },
    ],
  }
  assert.equal(shown([asked]), `  ? send needs your approval\n      to: Ada\n      text: ${long}\n      copies: 2\n`)
})

test('control codes in text of a model or a tool are shown, not executed', () => {
  assert.equal(safeText('a\x1b[2Jb\rc\u202ed\u0007\n\te'), 'a␛[2Jb␍c<U+202E>d␇\n\te')
  assert.equal(shown([text('\x1b[31mred')]), '␛[31mred')
})

test('only y or yes approves; any other text is the reason of a denial', () => {
  const asked = { callId: 'call-1', digest: 'd' }
  for (const yes of ['y', 'Y', ' yes ']) assert.equal(verdictOf(yes, asked)?.verdict, 'approve')
  assert.deepEqual(verdictOf('n', asked), { callId: 'call-1', verdict: 'deny' })
  assert.deepEqual(verdictOf('yes but later', asked), { callId: 'call-1', verdict: 'deny', reason: 'yes but later' })
  assert.equal(verdictOf('  ', asked), undefined)
})

test('colors are used only on a terminal that supports them', () => {
  const painted = (isTTY: boolean, environment: Record<string, string>) =>
    newScreen({ isTTY, write: () => true }, environment).look.paint.bold('x')
  assert.equal(painted(true, {}), '\x1b[1mx\x1b[22m')
  for (const plain of [painted(false, {}), painted(true, { NO_COLOR: '1' }), painted(true, { TERM: 'dumb' })])
    assert.equal(plain, 'x')
})

test('a written file is shown as its first line and its number of lines', () => {
  const json = JSON.stringify({ path: 'a.js', content: 'const a = 1\nconst b = 2\nconst c = 3\n' })
  assert.match(
    shown([call('write_file', json)]),
    /→ write_file \{"path":"a.js","content":"const a = 1… \(3 lines\)"\}\n/,
  )
  assert.match(
    shown([call('write_file', '{"path": "a.js", "content": "x\\n')]),
    /"x\\n/,
    'invalid JSON is shown unchanged',
  )
})
