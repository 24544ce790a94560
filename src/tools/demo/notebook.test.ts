import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { AgentId } from '../../core/id.ts'
import type { Json } from '../../core/json.ts'
import { temporaryName } from '../../disk/atomic-write.ts'
import type { ToolContext } from '../../ports/tool.ts'
import { shortDigest } from '../safe-file-name.ts'
import { notebook } from './notebook.ts'

let home = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-notes-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const contextOf = (idempotencyKey: string, agentId: AgentId = 'agent-1'): ToolContext => ({
  idempotencyKey,
  agentId,
  signal: new AbortController().signal,
  progress: () => {},
  conversationId: 'conv-1',
  runId: 'run-1',
  callId: 'call-1',
})

async function use(name: string, input: Json, key: string, agentId?: AgentId): Promise<string> {
  const tool = notebook({ home }).find((one) => one.name === name)!
  const { status, output } = await tool.run(input, contextOf(key, agentId))
  assert.equal(status, 'success', output)
  return output
}
const write = (text: string, key: string) => use('write_note', { text }, key)
const read = () => use('read_notes', {}, 'reading')
const file = () => join(home, 'notes', 'agent-1.md')

test('notes are read in the order they were written, and only by their agent', async () => {
  await write('Ada likes tea', 'key-1')
  await write('Bob likes\ncoffee', 'key-2')
  assert.equal(await read(), '- Ada likes tea\n- Bob likes\n  coffee')
  assert.equal(await use('read_notes', {}, 'reading', 'agent-2'), 'The notebook is empty.')
})

test('a write repeated with its key adds nothing', async () => {
  assert.equal(await write('Ada likes tea', 'key-1'), await write('Ada likes tea', 'key-1'))
  assert.equal(await read(), '- Ada likes tea')
})

test('the same words with another key are another note', async () => {
  await write('Ada likes tea', 'key-1')
  await write('Ada likes tea', 'key-2')
  assert.equal(await read(), '- Ada likes tea\n- Ada likes tea')
})

test('a write interrupted before its rename is made once when repeated, and its temporary file is gone', async () => {
  await write('first', 'key-1')
  const leftover = join(home, 'notes', temporaryName(file(), shortDigest('key-2')))
  writeFileSync(leftover, '- first\n- sec')
  assert.equal(await read(), '- first')
  await write('second', 'key-2')
  await write('second', 'key-2')
  assert.equal(await read(), '- first\n- second')
  assert.deepEqual(readdirSync(join(home, 'notes')), ['agent-1.md'])
})

test('the first write may be interrupted as well', async () => {
  mkdirSync(join(home, 'notes'))
  writeFileSync(join(home, 'notes', temporaryName(file(), shortDigest('key-1'))), '')
  await write('first', 'key-1')
  assert.equal(await read(), '- first')
})

test('a note that looks like the key of another write does not stop that write', async () => {
  const marker = `<!-- key ${shortDigest('key-2')} -->`
  await write(`${marker}\n${marker}`, 'key-1')
  await write('second', 'key-2')
  assert.equal(await read(), `- ${marker}\n  ${marker}\n- second`)
})

test('conversations that write at the same time lose nothing', async () => {
  const tool = notebook({ home }).find((one) => one.name === 'write_note')!
  const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`)
  await Promise.all(keys.map((key) => tool.run({ text: key }, contextOf(key))))
  assert.deepEqual((await read()).split('\n').sort(), keys.map((key) => `- ${key}`).sort())
})

test('erasing leaves no text behind, not even of interrupted writes', async () => {
  await write('a secret', 'key-1')
  writeFileSync(join(home, 'notes', temporaryName(file(), shortDigest('key-2'))), 'a secret')
  await use('erase_notes', {}, 'key-3')
  assert.equal(await read(), 'The notebook is empty.')
  for (const name of readdirSync(join(home, 'notes')))
    assert.ok(!readFileSync(join(home, 'notes', name), 'utf8').includes('secret'))
})

test('erasing an empty notebook succeeds', async () => {
  await use('erase_notes', {}, 'key-1')
  assert.equal(await read(), 'The notebook is empty.')
})

test('an erasure repeated with its key keeps later notes', async () => {
  await write('old', 'key-1')
  await use('erase_notes', {}, 'key-2')
  await write('new', 'key-3')
  await use('erase_notes', {}, 'key-2')
  assert.equal(await read(), '- new')
})

test('a write repeated after an erasure adds nothing', async () => {
  await write('old', 'key-1')
  await use('erase_notes', {}, 'key-2')
  await write('old', 'key-1')
  assert.equal(await read(), 'The notebook is empty.')
})

test('only erasing needs an approval', () => {
  const guarded = notebook({ home }).filter((tool) => tool.needsApproval)
  assert.deepEqual(
    guarded.map((tool) => tool.name),
    ['erase_notes'],
  )
})
