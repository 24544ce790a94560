import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolContext } from '../ports/tool.ts'
import { defineTool, success } from './define-tool.ts'

const context = {} as ToolContext
const declared = { name: 'act', description: '', inputSchema: true }

test('a tool that declares nothing gets the safest defaults', () => {
  const { run: _, ...tool } = defineTool({ ...declared, run: async () => success('') })
  assert.deepEqual(tool, {
    ...declared,
    effects: 'once',
    parallel: false,
    needsApproval: false,
    outputLimit: 50_000,
    timeoutMs: 120_000,
  })
})

test('an exception of a tool becomes an error answer', async () => {
  const tool = defineTool({
    ...declared,
    run: () => {
      throw new Error('no paper')
    },
  })
  const output = 'Error executing function act: Error: no paper'
  assert.deepEqual(await tool.run({}, context), { status: 'error', output })
})

test('an exception in a verification gives unknown', async () => {
  const tool = defineTool({
    ...declared,
    effects: 'verifiable',
    run: async () => success(''),
    verify: () => Promise.reject(new Error('offline')),
  })
  assert.deepEqual(await tool.verify!({}, context), { type: 'unknown' })
})

test('a verifiable tool without a way to verify cannot be defined', () => {
  assert.throws(() => defineTool({ ...declared, effects: 'verifiable', run: async () => success('') }), /no verify/)
})
