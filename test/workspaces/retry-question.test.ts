import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { WorkspaceError } from '../../src/ports/workspaces.ts'
import { connect, type SupervisorConnection } from '../../src/workspaces/connection.ts'
import { type ConnectionSource, retryQuestion } from '../../src/workspaces/retry-question.ts'

/** A socket that answers every question with what it was asked. */
async function givenLine(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-line-'))
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
  const line: ConnectionSource = {
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
  return { line, connections: () => opened }
}

test('a question that comes while its connection dies is asked on the next one', async (context) => {
  const { line, connections } = await givenLine(context)
  assert.equal(await retryQuestion({ type: 'processes' }, {}, line), 'processes')
  const dying = await line.open()
  // Its end is told later in this round of the loop; everything here happens before.
  dying.close()
  assert.equal(await retryQuestion({ type: 'processes' }, {}, line), 'processes')
  assert.equal(connections(), 2)
  ;(await line.open()).close()
})

test('what must not happen twice is not asked twice', async (context) => {
  const { line, connections } = await givenLine(context)
  ;(await line.open()).close()
  const typed = { type: 'write', processId: 'process-1', text: 'yes\n', end: false } as const
  await assert.rejects(retryQuestion(typed as never, {}, line), (fault) => {
    assert.ok(fault instanceof WorkspaceError)
    assert.match(fault.message, /may have happened; look before you ask again/)
    return true
  })
  assert.equal(connections(), 1)
})
