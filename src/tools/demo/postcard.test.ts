import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { Clock } from '../../ports/clock.ts'
import type { Tool, ToolContext } from '../../ports/tool.ts'
import { sendPostcard } from './postcard.ts'

const clock = { now: () => 42 } as Clock
let home = ''
let tool: Tool
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-outbox-'))
  tool = sendPostcard({ clock, home })
})
afterEach(() => rmSync(home, { recursive: true }))

const hello = { to: 'Ada', message: 'hi' }
const contextOf = (idempotencyKey: string, signal = new AbortController().signal) =>
  ({ idempotencyKey, signal }) as ToolContext
const outbox = () => join(home, 'outbox.jsonl')

test('a sent postcard is found by its key, with its first answer', async () => {
  assert.deepEqual(await tool.verify!(hello, contextOf('key-1')), { type: 'not-done' })
  const answer = await tool.run(hello, contextOf('key-1'))
  assert.equal(answer.status, 'success')
  assert.deepEqual(await tool.verify!(hello, contextOf('key-1')), { type: 'done', answer })
  assert.deepEqual(await tool.verify!(hello, contextOf('key-2')), { type: 'not-done' })
  assert.deepEqual(JSON.parse(readFileSync(outbox(), 'utf8')), { key: 'key-1', at: 42, ...hello })
})

test('a line cut short by a crash does not count as sent and does not break the next one', async () => {
  await tool.run(hello, contextOf('key-1'))
  appendFileSync(outbox(), '{"key":"key-2","to":"A')
  assert.deepEqual(await tool.verify!(hello, contextOf('key-2')), { type: 'not-done' })
  await tool.run(hello, contextOf('key-2'))
  for (const key of ['key-1', 'key-2']) assert.equal((await tool.verify!(hello, contextOf(key))).type, 'done')
})

test('postcards sent at the same time are all stored', async () => {
  const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`)
  await Promise.all(keys.map((key) => tool.run(hello, contextOf(key))))
  assert.equal(readFileSync(outbox(), 'utf8').trim().split('\n').length, keys.length)
})

test('an unreadable outbox verifies as unknown, not as not done', async () => {
  mkdirSync(outbox())
  assert.deepEqual(await tool.verify!(hello, contextOf('key-1')), { type: 'unknown' })
})

test('a cancelled call sends nothing', async () => {
  assert.equal((await tool.run(hello, contextOf('key-1', AbortSignal.abort()))).status, 'error')
  assert.deepEqual(await tool.verify!(hello, contextOf('key-1')), { type: 'not-done' })
})
