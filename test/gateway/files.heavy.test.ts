import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MOST_FILE_BYTES } from '../../src/core/gateway/chat-file.ts'
import { listOutbound } from '../../src/service/gateway/updates.ts'
import { openWorkspacesFixture, runCommand } from '../workspaces/fixture-workspaces.ts'
import { FILE_PLATFORMS, openFileChat, sending, shown } from './fixture-files.ts'
import { until } from './fixture-gateway.ts'

/** Every byte there is, so that no encoding survives by luck. */
const BYTES = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7 + (index >> 8)) % 256))
const open = FILE_PLATFORMS.Telegram!

for (const [name, openOne] of Object.entries(FILE_PLATFORMS)) {
  test(`${name}: a file goes into the sandboxed workspace and comes back byte for byte, once although calls are cut`, {
    timeout: 300_000,
  }, async (context) => {
    const { workspaces } = openWorkspacesFixture(context)
    const { chat } = await openFileChat(context, {
      open: openOne,
      workspaces,
      script({ messages }) {
        const path = /workspace as "([^"]+)"/.exec(shown([{ messages } as never]))?.[1] ?? 'none'
        return [{ calls: [{ tool: 'send_file', input: { path, name: 'back again.bin' } }] }, { text: 'Here.' }]
      },
    })
    const faults = ['cut-after', 'cut-before', 'cut-after'] as const
    let next = 0
    chat.setFault(() => {
      const type = faults[next++]
      return type && { type }
    })
    chat.sendFile('there.bin', BYTES, 'application/octet-stream')
    const rows = () => listOutbound({ limit: 10 }, chat.fixture.context)
    const isSent = async () => {
      const all = await rows()
      return all.length === 2 && all.every(({ state }) => state === 'sent')
    }
    for (let rounds = 0; rounds < 5 && !(await isSent()); rounds++)
      await until(isSent, chat.server).catch(() => undefined)
    assert.deepEqual(
      (await rows()).map(({ state }) => state),
      ['sent', 'sent'],
    )
    assert.equal(chat.files().length, 1)
    assert.ok(BYTES.equals(chat.files()[0]!.bytes))
    const [conversationId] = await workspaces.list()
    const workspace = await workspaces.open(conversationId!)
    assert.match((await runCommand(workspace, 'ls inbox && stat -c %s inbox/*')).text, /there\.bin\n300000/)
  })
}

test('a file is sent as it was when the tool took it, although it is removed and the server restarts meanwhile', async (context) => {
  const { chat, folder } = await openFileChat(context, { open, script: () => sending('data.bin') })
  folder.put('data.bin', BYTES)
  let isDown = true
  chat.setFault(() => (isDown ? { type: 'error', status: 500, description: 'Internal Server Error' } : undefined))
  chat.say('send it')
  const row = async () => (await listOutbound({ limit: 10 }, chat.fixture.context)).find(({ body }) => body.file)
  await until(async () => ((await row())?.failures ?? 0) > 0, chat.server)
  rmSync(join(folder.folder, 'data.bin'))
  await chat.stop()
  isDown = false
  chat.start()
  await until(() => chat.files().length === 1, chat.server)
  assert.ok(BYTES.equals(chat.files()[0]!.bytes))
})

for (const [what, type] of [
  ['before', 'cut-before'],
  ['after', 'cut-after'],
] as const)
  test(`Telegram: a file whose call is cut ${what} it had its effect is in the chat once`, async (context) => {
    const { chat, folder } = await openFileChat(context, { open, script: () => sending('data.bin') })
    folder.put('data.bin', BYTES)
    let cuts = 2
    chat.setFault(() => (cuts-- > 0 ? { type } : undefined))
    chat.say('send it')
    const rows = () => listOutbound({ limit: 10 }, chat.fixture.context)
    await until(async () => {
      const all = await rows()
      return all.length === 2 && all.every(({ state }) => state === 'sent')
    }, chat.server)
    assert.equal(chat.files().length, 1)
    assert.ok(cuts <= 0)
  })

test('a file that the platform refuses becomes a message with the reason, and the answer arrives', async (context) => {
  const { chat, folder } = await openFileChat(context, { open, script: () => sending('data.bin') })
  folder.put('data.bin', BYTES)
  chat.setFault(() => ({ type: 'error', status: 413, description: 'Request Entity Too Large' }))
  chat.say('send it')
  await until(() => chat.texts().length === 2, chat.server)
  assert.deepEqual(chat.texts(), ['Here it is.', '⚠️ The file data.bin was not sent: Request Entity Too Large.'])
  assert.equal(chat.files().length, 0)
})

test('an image is shown, and one that the platform cannot process is sent as a file', async (context) => {
  const png = Buffer.concat([Buffer.from('\x89PNG', 'latin1'), BYTES])
  const { chat, folder } = await openFileChat(context, {
    open,
    script: ({ messages }) => sending(JSON.stringify(messages).includes('second') ? 'bad.png' : 'good.png'),
  })
  folder.put('good.png', png)
  folder.put('bad.png', BYTES)
  chat.say('first')
  await until(() => chat.files().length === 1, chat.server)
  chat.say('second')
  await until(() => chat.files().length === 2, chat.server)
  assert.deepEqual(
    chat.files().map((file) => ('type' in file ? file.type : undefined)),
    ['photo', 'document'],
  )
})

test('what cannot be sent is refused in words: outside, missing, empty, too large, too many, and without a chat', async (context) => {
  const { chat, folder, call } = await openFileChat(context, {
    open,
    script: ({ messages }) => {
      const asked = /path: (.+)$/.exec(shown([{ messages } as never]))?.[1] ?? ''
      const count = asked === 'many.txt' ? 11 : 1
      const calls = Array.from({ length: count }, () => ({ tool: 'send_file', input: { path: asked } }))
      return [{ calls }, { text: 'Tried.' }]
    },
  })
  folder.put('empty.txt', '')
  folder.put('many.txt', 'x')
  folder.put('large.bin', Buffer.alloc(MOST_FILE_BYTES + 1))
  const results = () =>
    chat.fixture.requests
      .at(-1)!
      .messages.flatMap((body) => (body.role === 'tool' ? body.outcomes.map(({ output }) => output) : []))
  const ask = async (path: string): Promise<string> => {
    const before = chat.texts().length
    chat.say(`path: ${path}`)
    await until(() => chat.texts().length > before, chat.server)
    return results().at(-1)!
  }
  assert.match(await ask('../outside/secret.txt'), /leads out of the workspace/)
  assert.match(await ask('/etc/passwd'), /leads out of the workspace/)
  assert.match(await ask('gone.txt'), /There is no file "gone.txt"/)
  assert.match(await ask('empty.txt'), /is empty/)
  assert.match(await ask('large.bin'), /has 20971521 bytes, and at most 20971520 are allowed/)
  assert.equal(chat.files().length, 0)
  assert.match(await ask('many.txt'), /This turn sends 10 files already/)
  await until(() => chat.files().length === 10, chat.server)
  assert.match((await call({ path: 'many.txt' })).output, /not one of a chat platform/)
})
