import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MOST_FILE_BYTES, safeName } from '../../src/core/gateway/chat-file.ts'
import { listOutbound } from '../../src/service/gateway/updates.ts'
import { FILE_PLATFORMS, openFileChat, sending, shown } from './fixture-files.ts'
import { until } from './fixture-gateway.ts'

const open = FILE_PLATFORMS.Telegram!
/** Every byte there is, so that no encoding survives by luck. */
const BYTES = Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 7) % 256))

test('a file that is sent in a chat is in the workspace byte for byte, under a harmless name', async (context) => {
  const { chat, folder } = await openFileChat(context, { open, script: () => [{ text: 'Got it.' }] })
  const { fixture, server } = chat
  chat.sendFile('../../.bash\u202Erc\n"x".bin', BYTES, 'application/octet-stream')
  await until(() => chat.texts().length === 1, server)
  const path = /saved in your workspace as "([^"]+)"/.exec(shown(fixture.requests))?.[1]
  assert.match(path ?? '', /^inbox\/\d+-1-[^/]+\.bin$/)
  const { files } = await fixture.context.workspaces.open(fixture.conversationId)
  const loaded = await files.load(path!, MOST_FILE_BYTES)
  assert.ok(loaded.type === 'done' && BYTES.equals(loaded.content))
  chat.sendFile('notes.txt', Buffer.from('line one'), 'text/plain')
  await until(() => chat.texts().length === 2, server)
  assert.match(
    shown(fixture.requests),
    /\[file "notes.txt", saved in your workspace as "inbox\/\d+-1-notes.txt"\]\nline one/,
  )
  assert.match(folder.get('inbox/2-1-notes.txt'), /^line one$/)
})

test('a file of the workspace reaches the chat byte for byte with the answer, and its bytes are not kept', async (context) => {
  const { chat, folder } = await openFileChat(context, { open, script: () => sending('out/report.pdf') })
  folder.put('out/report.pdf', BYTES)
  chat.say('send me the report')
  await until(() => chat.files().length === 1, chat.server)
  await until(async () => (await sentRows()).every(({ state }) => state === 'sent'), chat.server)
  assert.deepEqual(chat.texts(), ['Here it is.'])
  assert.deepEqual(
    chat.files().map(({ name }) => name),
    ['report.pdf'],
  )
  assert.ok(BYTES.equals(chat.files()[0]!.bytes))
  const rows = await sentRows()
  assert.equal(rows.length, 2)
  const { file } = rows.find(({ body }) => body.file)!.body
  assert.deepEqual([file?.name, file?.mediaType, file?.bytes], ['report.pdf', 'application/pdf', BYTES.length])
  const { store } = chat.fixture.context.deps
  await until(
    async () => (await store.gateway.fileBytes(chat.fixture.agent.organizationId, file!.id)) === undefined,
    chat.server,
  )

  function sentRows() {
    return listOutbound({ limit: 10 }, chat.fixture.context)
  }
})

test('names of strangers and models become one harmless component of a path', () => {
  const cases: [given: string, safe: string][] = [
    ['report.pdf', 'report.pdf'],
    ['../../etc/passwd', '_.._etc_passwd'],
    ['..', 'file'],
    ['', 'file'],
    ['.bashrc', 'bashrc'],
    ['a\0b\nc\u202Egpj.exe', 'a_b_c_gpj.exe'],
    ['C:\\x|y?.txt', 'C_x_y_.txt'],
    ['\ud800.txt', '\ufffd.txt'],
    [`${'ä'.repeat(300)}.docx`, `${'ä'.repeat(57)}.docx`],
  ]
  for (const [given, safe] of cases) assert.equal(safeName(given), safe, JSON.stringify(given))
})
