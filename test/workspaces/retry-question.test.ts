import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { WorkspaceError } from '../../src/ports/workspaces.ts'
import { connect, type SupervisorConnection } from '../../src/workspaces/connection.ts'
import { type ConnectionSource, retryQuestion } from '../../src/workspaces/retry-question.ts'

/** A socket that echoes every question as its answer. */
async function newSourceFixture(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-source-'))
  const path = join(folder, 'socket')
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (line) => {
      const { id, ask } = JSON.parse(String(line))
      socket.write(`${JSON.stringify({ id, answer: ask.type })}\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  context.after(() => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let known: Promise<SupervisorConnection> | undefined
  let opened = 0
  const source: ConnectionSource = {
    open() {
      if (!known) opened++
      known ??= connect(path)
      return known
    },
    forget(lost) {
      if (known === lost) known = undefined
    },
    isClosed: () => false,
  }
  return { source, connections: () => opened }
}

test('a question on a dying connection is retried on the next one', async (context) => {
  const { source, connections } = await newSourceFixture(context)
  assert.equal(await retryQuestion({ type: 'processes' }, {}, source), 'processes')
  const dying = await source.open()
  // The close event comes later in this round of the event loop; everything here happens before.
  dying.close()
  assert.equal(await retryQuestion({ type: 'processes' }, {}, source), 'processes')
  assert.equal(connections(), 2)
  ;(await source.open()).close()
})

test('a question that must not happen twice is not retried', async (context) => {
  const { source, connections } = await newSourceFixture(context)
  ;(await source.open()).close()
  const typed = { type: 'write', processId: 'process-1', text: 'yes\n', end: false } as const
  await assert.rejects(retryQuestion(typed as never, {}, source), (fault) => {
    assert.ok(fault instanceof WorkspaceError)
    assert.match(fault.message, /may have taken effect; check before you repeat it/)
    return true
  })
  assert.equal(connections(), 1)
})
