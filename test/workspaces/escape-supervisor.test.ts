import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ConversationId } from '../../src/core/id.ts'
import { type Workspace, WorkspaceError } from '../../src/ports/workspaces.ts'
import { newCommand, newConversationId, openWorkspacesFixture } from './fixture-workspaces.ts'

type Answer = string | ((socket: Socket) => void)

/** Answers that a command could forge after taking over its supervisor. `#` is replaced by the question's id. */
const ANSWERS: Record<string, Answer> = {
  'no JSON': 'GET / HTTP/1.1\n',
  nothing: '{"id":#}\n',
  null: '{"id":#,"answer":null}\n',
  'a number': '{"id":#,"answer":7}\n',
  'a list': '{"id":#,"answer":[[[[]]]]}\n',
  'an empty object': '{"id":#,"answer":{}}\n',
  'a fault without a message': '{"id":#,"fault":{}}\n',
  'a fault of another kind': '{"id":#,"fault":"gone","message":"for ever"}\n',
  'names of object prototypes':
    '{"id":#,"answer":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}\n',
  'a process with invalid fields':
    '{"id":#,"answer":{"processId":"p","key":1,"command":{},"runId":null,"startedAt":"now","outputBytes":-1,"background":1}}\n',
  'text where a number is due': '{"id":#,"answer":{"text":"x","from":"0","next":"9","total":null,"dropped":{}}}\n',
  'an endless depth': `{"id":#,"answer":${'['.repeat(100_000)}\n`,
  'an endless line': (socket) => {
    const piece = Buffer.alloc(1024 * 1024, 97)
    const more = (): void => void (!socket.destroyed && socket.write(piece, more))
    more()
  },
}

const QUESTIONS: Record<string, (workspace: Workspace) => Promise<unknown>> = {
  start: (workspace) => workspace.start(newCommand('true')),
  processes: (workspace) => workspace.processes(),
  output: (workspace) => workspace.output('process-1', { last: 10 }),
  read: (workspace) => workspace.files.read('a'),
  search: (workspace) => workspace.files.search({ pattern: 'a' }),
}

test('a compromised supervisor cannot mislead, crash, block or bloat the server', async (context) => {
  const fixture = openWorkspacesFixture(context, { sandbox: { containment: 'local' } })
  for (const [words, answer] of Object.entries(ANSWERS)) {
    const workspace = await fixture.workspaces.open(await impostor(context, fixture.folder, answer))
    for (const [name, ask] of Object.entries(QUESTIONS)) {
      const before = process.memoryUsage.rss()
      await assert.rejects(ask(workspace), (fault) => {
        assert.ok(fault instanceof WorkspaceError, `${name}, ${words}: ${fault}`)
        assert.notEqual(fault.fault, 'gone')
        return true
      })
      assert.ok(process.memoryUsage.rss() - before < 512 * 1024 * 1024, `${name}, ${words}`)
    }
  }
  assert.equal('polluted' in {}, false)
})

/** A fake supervisor that says hello and then gives the same answer to each question. */
async function impostor(context: TestContext, folder: string, answer: Answer): Promise<ConversationId> {
  const conversationId = newConversationId()
  mkdirSync(join(folder, conversationId, 'files'), { recursive: true })
  const server = createServer((socket) => {
    socket.on('error', () => {})
    let text = ''
    socket.setEncoding('utf8').on('data', (piece: string) => {
      const lines = (text + piece).split('\n')
      text = lines.pop()!
      for (const line of lines) say(socket, JSON.parse(line) as { id: number; ask: { type: string } })
    })
  })
  function say(socket: Socket, { id, ask }: { id: number; ask: { type: string } }): void {
    if (ask.type === 'hello') return void socket.write(`{"id":${id},"answer":{"orders":{},"startedAt":0}}\n`)
    if (ask.type === 'rest') return void socket.write(`{"id":${id},"answer":false}\n`)
    if (typeof answer === 'string') socket.write(answer.replace('#', String(id)))
    else answer(socket)
  }
  await new Promise<void>((resolve) => server.listen(join(folder, conversationId, 'supervisor.sock'), resolve))
  context.after(() => server.close())
  return conversationId
}
