import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOf } from '../../src/core/message.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { lastInput } from '../../src/providers/scripted/current-turn.ts'
import { listSessions } from '../../src/service/gateway/chat-sessions.ts'
import { listInbound, listOutbound } from '../../src/service/gateway/updates.ts'
import { startMatrix } from '../../src/simulator/matrix/matrix-server.ts'
import { ADA, BOT } from '../../src/simulator/matrix/world.ts'
import { gate, tool } from '../harness/tools.ts'
import { until } from './fixture-gateway.ts'
import { BOB, openMatrixFixture } from './fixture-matrix.ts'

const echo = ({ messages }: ModelRequest) => [{ text: `You said: ${lastInput(messages)}` }]

test('Matrix: a long answer comes in parts, formatted, and closes the code blocks that it cuts', async (context) => {
  const code = 'let here = "**not bold**" && 1 < 2\n'.repeat(250)
  const text = `# Title\n\nSome **bold** words, a [link](https://example.org/a?b=1&c=2).\n\n- one\n- two\n\n\`\`\`js\n${code}\`\`\`\n\nThe end.`
  const { matrix, waitFor, said, connected } = await openMatrixFixture(context, { home: { script: [{ text }] } })
  await connected()
  matrix.say('tell me all')
  const last = await waitFor(/The end\.$/)
  assert.equal(said().length, 2)
  const first = matrix.messages.find(({ sender }) => sender === BOT.id)!
  assert.match(first.html!, /^<h1>Title<\/h1><br>?/)
  assert.match(first.html!, /<strong>bold<\/strong> words, a <a href="https:\/\/example.org\/a\?b=1&amp;c=2">link<\/a>/)
  assert.match(
    first.html!,
    /<pre><code class="language-js">[\s\S]*&quot;\*\*not bold\*\*&quot; &amp;&amp; 1 &lt; 2[\s\S]*<\/code><\/pre>$/,
  )
  assert.match(last.text, /^```js\n/)
})

test('Matrix: progress is one message that is edited, and becomes the answer', async (context) => {
  const text = 'word '.repeat(60).trim()
  const { matrix, waitFor, said, connected } = await openMatrixFixture(context, {
    home: { script: [{ text, pace: { chunkSize: 10, delayMs: 120 } }] },
  })
  await connected()
  matrix.say('talk slowly')
  const answer = await waitFor(text)
  assert.deepEqual(said(), [text])
  assert.ok(answer.versions.length >= 3, `the text grew: ${answer.versions.length} versions`)
  assert.ok(matrix.calls.some(({ path }) => path.includes('/typing/')))
})

test('Matrix: !stop ends a turn in the middle of a tool, and the commands work with `!` and with `/`', async (context) => {
  const began = gate()
  const slow = tool(
    'dig',
    (_, { signal }) =>
      new Promise((resolve) => {
        began.open()
        signal.addEventListener('abort', () => resolve({ status: 'error', output: 'stopped' }))
      }),
  )
  const { matrix, waitFor, connected } = await openMatrixFixture(context, {
    home: { script: [{ calls: [{ tool: 'dig', input: {} }] }, { text: 'never said' }], tools: [slow] },
  })
  await connected()
  matrix.say('dig a hole')
  await began.promise
  matrix.say('!stop')
  await waitFor('Stopping.')
  await waitFor('⏹ Stopped.')
  matrix.say('!help')
  await waitFor(/!stop: Stop what I am doing/)
  matrix.say('/status')
  await waitFor(/Agent: keeper\nModel: test\/model\nState: idle/)
  matrix.say('!queue steer')
  await waitFor(/joins what I am doing/)
  matrix.say('!new')
  await waitFor(/A new conversation with keeper begins/)
})

test('Matrix: photos and files reach the model; a file that is gone or too large is named', async (context) => {
  const { matrix, fixture, connected } = await openMatrixFixture(context, { home: { script: [{ text: 'Nice.' }] } })
  await connected()
  matrix.media.set('photo', Buffer.from('pixels'))
  matrix.media.set('notes', Buffer.from('line one'))
  const file = (content: object) => {
    const before = fixture.requests.length
    matrix.say('', { content: content as Record<string, unknown> })
    return until(() => fixture.requests.length > before, matrix)
  }
  const content = (index: number) => {
    const body = fixture.requests.at(index)!.messages.at(-1)!
    return 'content' in body ? body.content : []
  }
  const photo = { msgtype: 'm.image', url: 'mxc://simulated.example/photo', info: { mimetype: 'image/png', size: 6 } }
  await file({ ...photo, body: 'look', filename: 'photo.png' })
  assert.deepEqual(content(0), [
    { type: 'text', text: 'look' },
    { type: 'image', source: { mediaType: 'image/png', data: Buffer.from('pixels').toString('base64') } },
  ])
  await file({
    msgtype: 'm.file',
    body: 'notes.txt',
    url: 'mxc://simulated.example/notes',
    info: { mimetype: 'text/plain' },
  })
  assert.match(textOf(content(1)), /^\[file "notes.txt"\]\nline one/)
  await file({ msgtype: 'm.file', body: 'gone.txt', url: 'mxc://simulated.example/gone' })
  assert.match(textOf(content(2)), /\[media unavailable: gone.txt: the homeserver does not have the file\]/)
  await file({
    msgtype: 'm.video',
    body: 'film.mkv',
    url: 'mxc://simulated.example/film',
    info: { size: 50 * 1024 * 1024 },
  })
  assert.match(textOf(content(3)), /media unavailable: film.mkv has 50.0 MB/)
})

test('Matrix: edits, notices of bots, redacted messages and unknown kinds each end with their reason', async (context) => {
  const { matrix, waitFor, said, fixture, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  const said1 = matrix.say('hello')
  await waitFor('You said: hello')
  const edit = {
    'm.relates_to': { rel_type: 'm.replace', event_id: said1.event_id },
    'm.new_content': { body: 'hallo' },
  }
  matrix.say('', { content: { msgtype: 'm.text', body: '* hallo', ...edit } })
  matrix.say('', { content: { msgtype: 'm.notice', body: 'I am a bot' } })
  matrix.say('', { content: {} })
  matrix.say('', { content: { msgtype: 7, body: ['not', 'text'], 'm.relates_to': 'nonsense', 'm.mentions': 1 } })
  const ended = () => listInbound({ limit: 10, state: 'ended' }, fixture.context)
  await until(async () => (await ended()).length === 4, matrix)
  const reasons = (await ended()).map(({ reason }) => reason)
  assert.deepEqual(reasons.sort(), ['bot', 'edited', 'service-message', 'service-message'])
  assert.equal(said().length, 1)
})

test('Matrix: a homeserver that forgot the place in its stream loses nothing, and nothing is answered twice', async (context) => {
  const { matrix, waitFor, said, stop, start, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  matrix.say('one')
  await waitFor('You said: one')
  await stop()
  for (let count = 1; count <= 3; count++) matrix.say(`in the gap ${count}`)
  matrix.setTimelineLimit(1)
  matrix.forgetPositions()
  start()
  await waitFor('You said: in the gap 3')
  matrix.forgetPositions()
  await connected()
  matrix.say('two')
  await waitFor('You said: two')
  assert.equal(said().length, 5)
})

test('Matrix: what was said before the invitation is not for the bot; what was said while it entered is', async (context) => {
  const { matrix, waitFor, said, stop, start, configure, connected } = await openMatrixFixture(context, {
    home: { script: echo },
  })
  await connected()
  const room = matrix.openRoom({ name: 'Team', people: [BOB], invites: [] })
  await configure({ groups: { [room.id]: { allow: ['*'], mention: false } } })
  await connected()
  await stop()
  for (let count = 1; count <= 4; count++) matrix.say(`before ${count}`, { room })
  matrix.invite(room, BOT.id, ADA.id)
  for (let count = 1; count <= 4; count++) matrix.say(`after ${count}`, { room })
  matrix.setTimelineLimit(2)
  start()
  await waitFor(/after 4/, room.id)
  assert.deepEqual(
    said(room.id).map((text) => text.match(/(before|after) \d/)![0]),
    ['after 1', 'after 2', 'after 3', 'after 4'],
  )
})

test('Matrix: an invitation that cannot be accepted yet is tried again by the next process; a withdrawn one is forgotten', async (context) => {
  const { matrix, waitFor, stop, start, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  matrix.setFault(({ path }) => (path.startsWith('/v3/join/') ? { type: 'cut-before' } : undefined))
  const isTried = (id: string) => matrix.calls.some(({ path }) => path === `/v3/join/${id}`)
  matrix.say('hello')
  await until(() => isTried(matrix.directRoom().id), matrix)
  await stop()
  matrix.setFault(undefined)
  start()
  await waitFor('You said: hello')
  matrix.setFault(({ path }) =>
    path.startsWith('/v3/join/') ? { type: 'error', status: 403, description: 'M_FORBIDDEN not invited' } : undefined,
  )
  const other = matrix.openRoom()
  await until(() => isTried(other.id), matrix)
  matrix.say('and now')
  await waitFor('You said: and now')
})

test('Matrix: a room that was upgraded is followed with its conversation', async (context) => {
  const { matrix, waitFor, fixture, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  matrix.say('one')
  await waitFor('You said: one')
  const [before] = await listSessions({ limit: 5 }, fixture.context)
  const next = matrix.openRoom()
  const content = { body: 'This room has been replaced', replacement_room: next.id }
  matrix.add(matrix.directRoom(), { type: 'm.room.tombstone', sender: ADA.id, state_key: '', content })
  const moved = async () => (await listSessions({ limit: 5 }, fixture.context))[0]!.chatId === next.id
  await until(moved, matrix)
  matrix.say('two', { room: next })
  await waitFor('You said: two', next.id)
  const sessions = await listSessions({ limit: 5 }, fixture.context)
  assert.deepEqual(
    sessions.map(({ conversationId }) => conversationId),
    [before!.conversationId],
  )
})

test('Matrix: a room that the bot was put out of is a dead target, without a retry; others do not notice', async (context) => {
  const [began, left] = [gate(), gate()]
  const slow = tool('dig', async () => {
    began.open()
    await left.promise
    return { status: 'success', output: 'done' }
  })
  const digs = [{ calls: [{ tool: 'dig', input: {} }] }, { text: 'never heard' }]
  const { matrix, waitFor, fixture, connected } = await openMatrixFixture(context, {
    home: { script: (request) => (lastInput(request.messages) === 'dig' ? digs : echo(request)), tools: [slow] },
  })
  await connected()
  matrix.say('dig')
  await began.promise
  const leave = { type: 'm.room.member', sender: ADA.id, state_key: BOT.id, content: { membership: 'leave' } }
  matrix.add(matrix.directRoom(), leave)
  left.open()
  const failed = async () => (await listOutbound({ limit: 5 }, fixture.context)).find(({ state }) => state === 'failed')
  await until(async () => (await failed()) !== undefined, matrix)
  assert.match((await failed())!.error!, /not in room/)
  matrix.say('hello', { user: BOB })
  await waitFor('You said: hello', matrix.directRoom(BOB).id)
})

test('Matrix: 429 is waited for without spending an attempt, and the answer is said once', async (context) => {
  const { matrix, waitFor, said, fixture, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  let count = 0
  matrix.setFault(({ path }) =>
    path.includes('/send/m.room.message/') && count++ < 3
      ? { type: 'error', status: 429, description: 'M_LIMIT_EXCEEDED slow down', retryAfter: 0.2 }
      : undefined,
  )
  matrix.say('hello')
  await waitFor('You said: hello')
  const [row] = await listOutbound({ limit: 1 }, fixture.context)
  assert.deepEqual([said().length, row!.attempts], [1, 0])
})

test('Matrix: a homeserver that answers 200 and did nothing is asked again until there is an event', async (context) => {
  const { matrix, waitFor, said, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  let count = 0
  matrix.setFault(({ path }) =>
    path.includes('/send/m.room.message/') && count++ < 2 ? { type: 'nothing' } : undefined,
  )
  matrix.say('hello')
  await waitFor('You said: hello')
  assert.deepEqual(said(), ['You said: hello'])
})

test('Matrix: a burst that the homeserver delivers in part is answered once each, in order', async (context) => {
  const { matrix, said, stop, start, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  await stop()
  const people = Array.from({ length: 10 }, (_, index) => ({ id: `@p${index}:simulated.example`, name: `P${index}` }))
  for (let count = 0; count < 200; count++)
    matrix.say(`message ${Math.floor(count / people.length)}`, { user: people[count % people.length]! })
  matrix.setTimelineLimit(5)
  start()
  const rooms = people.map((user) => matrix.directRoom(user).id)
  const answers = () => rooms.reduce((sum, room) => sum + said(room).length, 0)
  // As long as more answers come, however busy the machine is.
  for (let before = 0; before < 200; before = answers()) await until(() => answers() > before, matrix)
  for (const room of rooms)
    assert.deepEqual(
      said(room),
      Array.from({ length: 20 }, (_, index) => `You said: message ${index}`),
    )
})

test('Matrix: a homeserver that is away, a wrong address, a foreign certificate and a missing token are said in words', async (context) => {
  const { matrix, state, configure, connected } = await openMatrixFixture(context, { home: { script: echo } })
  await connected()
  const away = await startMatrix()
  await away.close()
  await configure({ apiRoot: away.url })
  assert.match(await state('backing-off'), /cannot reach the homeserver \(ECONNREFUSED\)/)
  await configure({ apiRoot: `${matrix.url}/elsewhere` })
  assert.match(await state('backing-off'), /answered 404 like no Matrix homeserver/)
  await configure({ apiRoot: matrix.url.replace('http:', 'https:') })
  assert.match(await state('backing-off'), /no TLS connection that can be trusted/)
  await configure({ apiRoot: undefined as never })
  assert.match(await state('refused'), /has no homeserver. Set its `api_root` in config.yaml, or MATRIX_HOMESERVER/)
})
