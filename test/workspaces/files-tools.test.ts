import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConversationId } from '../../src/core/id.ts'
import type { Json } from '../../src/core/json.ts'
import type { ToolContext } from '../../src/ports/tool.ts'
import type { WorkspaceFiles } from '../../src/ports/workspace-files.ts'
import { type Workspace, WorkspaceError, type Workspaces } from '../../src/ports/workspaces.ts'
import { toolRegistry } from '../../src/tools/registry.ts'
import { fileTools } from '../../src/tools/workspace/file-tools.ts'
import { missingProgram } from '../harness/programs.ts'
import { openFilesFixture } from './fixture-files.ts'
import { newConversationId, openWorkspacesFixture } from './fixture-workspaces.ts'

type Opening = (conversationId: ConversationId) => Promise<{ files: WorkspaceFiles }>

/** The tools as a turn uses them, each call with its own idempotency key unless it is a repetition. */
function toolsOver(open: Opening) {
  const tools = fileTools({ open: open as Workspaces['open'] } as Workspaces)
  const registry = toolRegistry(tools)
  let calls = 0
  const call = async (name: string, input: Json, context: Partial<ToolContext> = {}) => {
    const tool = registry.find(name)!
    const fault = registry.inputFault(tool, input)
    if (fault) return { status: 'invalid', output: fault }
    calls += 1
    const ours = {
      conversationId: newConversationId(),
      signal: new AbortController().signal,
      idempotencyKey: `${calls}`,
    }
    return tool.run(input, { ...ours, ...context } as ToolContext)
  }
  return { tools, call, outputOf: async (name: string, input: Json) => (await call(name, input)).output }
}

test('the file tools declare their effects and need no approval', () => {
  const { tools } = toolsOver(() => Promise.reject(new Error('not asked')))
  const declared = tools.map(({ name, effects, parallel, needsApproval }) => [name, effects, parallel, needsApproval])
  assert.deepEqual(declared, [
    ['read_file', 'none', true, false],
    ['write_file', 'idempotent', false, false],
    ['edit_file', 'idempotent', false, false],
    ['search_files', 'none', true, false],
  ])
})

test('a model writes, reads, edits and searches files, and gets readable answers', async (t) => {
  const { files, put } = openFilesFixture(t)
  const { outputOf } = toolsOver(async () => ({ files }))
  assert.equal(await outputOf('write_file', { path: 'a.txt', content: 'one\ntwo\n' }), 'Created a.txt with 8 bytes.')
  assert.match(
    await outputOf('write_file', { path: 'a.txt', content: 'one\n' }),
    /^Replaced the content of a\.txt; it now has 4/,
  )
  assert.equal(await outputOf('read_file', { path: 'a.txt' }), '1\tone')
  const edit = { path: 'a.txt', old_string: 'one', new_string: '1\n2\n3' }
  assert.equal(await outputOf('edit_file', edit), 'Changed a.txt in 1 place, the first at line 1.')
  const patch = '@@ -1,2 +1,2 @@\n 1\n-2\n+two\n'
  assert.equal(await outputOf('edit_file', { path: 'a.txt', patch }), 'Changed a.txt in 1 hunk, the first at line 2.')
  assert.equal(await outputOf('search_files', { pattern: 'T', ignore_case: true }), 'a.txt:2: two')
  assert.equal(await outputOf('search_files', { pattern: '.', text: true }), 'Nothing was found.')
  put('odd\nname', 'two\n')
  assert.equal(await outputOf('search_files', { pattern: '^two' }), 'a.txt:2: two\n"odd\\nname":1: two')
})

test('edit_file takes old_string, new_string and replace_all, and find, replace and all as before', async (t) => {
  for (const [old, next, all] of [
    ['old_string', 'new_string', 'replace_all'],
    ['find', 'replace', 'all'],
  ] as const) {
    const { files, put } = openFilesFixture(t)
    const { call, outputOf } = toolsOver(async () => ({ files }))
    put('a.txt', 'one one\n')
    assert.match((await call('edit_file', { path: 'a.txt', [old]: 'one', [next]: '1' })).output, /found 2 times/)
    const edit = { path: 'a.txt', [old]: 'one', [next]: '1', [all]: true }
    assert.equal(await outputOf('edit_file', edit), 'Changed a.txt in 2 places, the first at line 1.')
    assert.equal(
      await outputOf('edit_file', { path: 'a.txt', [old]: ' 1', [next]: '', [all]: false }),
      'Changed a.txt in 1 place, the first at line 1.',
    )
    assert.equal(await outputOf('read_file', { path: 'a.txt' }), '1\t1')
  }
})

test('a file is shown with line numbers, and with notes about its end and line endings', async (t) => {
  const { files, put } = openFilesFixture(t)
  const { outputOf } = toolsOver(async () => ({ files }))
  put('a.txt', Array.from({ length: 12 }, (_, index) => `line ${index + 1}\r\n`).join(''))
  const part = await outputOf('read_file', { path: 'a.txt', from_line: 9, lines: 2 })
  const note = 'lines 9 to 10 of 12; read on with from_line 11; lines end in CRLF, which edits keep'
  assert.equal(part, ` 9\tline 9\n10\tline 10\n[${note}]`)
  assert.equal(await outputOf('read_file', { path: 'a.txt', from_line: 13 }), '[a.txt has only 12 lines]')
  put('empty', '')
  assert.equal(await outputOf('read_file', { path: 'empty' }), '[empty is empty]')
  put('open', 'x')
  assert.equal(await outputOf('read_file', { path: 'open' }), '1\tx\n[the last line has no line ending]')
})

test('the largest answer fits into the output limit of the tool', async (t) => {
  const { files, put } = openFilesFixture(t)
  const { tools, outputOf } = toolsOver(async () => ({ files }))
  put('a.txt', `${'x'.repeat(11)}\n`.repeat(100_000))
  const { length } = await outputOf('read_file', { path: 'a.txt', lines: 5_000, from_line: 90_000 })
  assert.ok(length > 60_000 && length < tools[0]!.outputLimit, `${length}`)
})

test('an invalid input gets a message that says what to send', async (t) => {
  const { files, put, get } = openFilesFixture(t)
  const { call, outputOf } = toolsOver(async () => ({ files }))
  put('a.txt', 'one\n')
  const edit = (input: object) => outputOf('edit_file', { path: 'a.txt', ...input })
  assert.match(await edit({}), /give "old_string" and "new_string", or "patch"/)
  assert.match(await edit({ find: 'one' }), /give "new_string", empty to take it away/)
  assert.match(await edit({ old_string: 'a', new_string: 'b', patch: '@@' }), /not both/)
  assert.match(await edit({ old_string: '', new_string: 'b' }), /"old_string" must not be empty/)
  assert.match(await edit({ old_string: 'a', find: 'a', new_string: 'b' }), /"old_string" and "find" are the same/)
  assert.match(
    await edit({ old_string: 'a', new_string: 'b', replace_all: true, all: false }),
    /are the same: give one/,
  )
  assert.match(await outputOf('read_file', { path: 'a.txt', from_line: 0 }), /"from_line" must be 1 or more/)
  assert.match(await outputOf('write_file', { path: 'a.txt' }), /"content" is missing/)
  assert.deepEqual(await call('read_file', { path: '../x' }), {
    status: 'error',
    output: 'The path "../x" leads out of the workspace. Give a path relative to the workspace, such as "src/main.py".',
  })
  assert.equal(get('a.txt'), 'one\n')
})

test('the message of an unavailable workspace is passed on', async () => {
  const { call } = toolsOver(() => Promise.reject(new WorkspaceError('missing-sandbox', 'Install bubblewrap first.')))
  for (const [name, input] of [
    ['read_file', { path: 'a' }],
    ['write_file', { path: 'a', content: '' }],
    ['edit_file', { path: 'a', find: 'a', replace: '' }],
    ['search_files', { pattern: 'a' }],
  ] as const)
    assert.deepEqual(await call(name, input), { status: 'error', output: 'Install bubblewrap first.' })
})

/** Performs the operation and then fails before it answers, the first `times` times. */
function breakingOff(files: WorkspaceFiles, times: number): WorkspaceFiles {
  let left = times
  const lost = async <T>(answer: Promise<T>): Promise<T> => {
    await answer
    if (left-- > 0) throw new WorkspaceError('unavailable', 'The workspace did not answer.')
    return answer
  }
  return {
    read: (...asked) => lost(files.read(...asked)),
    write: (...asked) => lost(files.write(...asked)),
    edit: (...asked) => lost(files.edit(...asked)),
    save: (...asked) => lost(files.save(...asked)),
    load: (...asked) => lost(files.load(...asked)),
    list: (...asked) => lost(files.list(...asked)),
    search: (...asked) => lost(files.search(...asked)),
  }
}

test('a lost answer is retried, and the edit is made once', async (t) => {
  const { files, put, get } = openFilesFixture(t)
  put('a.txt', '|')
  const flaky = breakingOff(files, 1)
  const { outputOf } = toolsOver(async () => ({ files: flaky }))
  assert.match(await outputOf('edit_file', { path: 'a.txt', find: '|', replace: 'x|' }), /^Changed a\.txt in 1 place/)
  assert.equal(get('a.txt'), 'x|')
})

test('a change without an answer is reported as unknown, a read as an error', async (t) => {
  const { files } = openFilesFixture(t)
  const { call } = toolsOver(async () => ({ files: breakingOff(files, 9) }))
  const written = await call('write_file', { path: 'a.txt', content: 'x' })
  assert.equal(written.status, 'unknown')
  assert.match(written.output, /^The workspace did not answer\. Whether the file was changed is not known: read it/)
  assert.deepEqual(await call('read_file', { path: 'a.txt' }), {
    status: 'error',
    output: 'The workspace did not answer.',
  })
})

test('a cancelled run does not wait for a search', async (t) => {
  const { files, put } = openFilesFixture(t, { ripgrep: 'none', searchMilliseconds: 1_500 })
  put('a.txt', `${'a'.repeat(40)}!\n`)
  let searches = 0
  const search: typeof files.search = (question) => {
    searches++
    return files.search(question).finally(() => searches--)
  }
  const { call } = toolsOver(async () => ({ files: { ...files, search } }))
  const stop = new AbortController()
  const answer = call('search_files', { pattern: '^(a+)+$' }, { signal: stop.signal })
  setImmediate(() => stop.abort())
  assert.deepEqual(await answer, { status: 'error', output: 'The search was stopped.' })
  assert.equal(searches, 1, 'the search itself continues')
})

test('an invalid answer of the supervisor is refused', async (t) => {
  const { files } = openFilesFixture(t)
  const { newFilesClient } = await import('../../src/workspaces/files-client.ts')
  for (const reply of [
    null,
    1,
    {},
    { type: 'done' },
    { type: 'done', matches: [1], isCut: false },
    { type: 'fault', fault: 1 },
  ]) {
    const lying = newFilesClient(async () => reply as never)
    for (const ask of [() => lying.read('a'), () => lying.write('a', ''), () => lying.search({ pattern: 'a' })])
      await assert.rejects(ask, (error: unknown) => error instanceof WorkspaceError && error.fault === 'unavailable')
  }
  assert.equal((await files.write('a', '')).type, 'done')
})

test('in a real sandbox, a repeated call of a turn is one edit', {
  skip: missingProgram('bwrap'),
}, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const conversationId = newConversationId()
  const { call } = toolsOver((id): Promise<Workspace> => fixture.workspaces.open(id))
  await call('write_file', { path: '/workspace/a.txt', content: '|\n' }, { conversationId, idempotencyKey: 'w' })
  const input = { path: 'a.txt', find: '|', replace: 'x|' }
  const first = await call('edit_file', input, { conversationId, idempotencyKey: 'e' })
  assert.deepEqual(await call('edit_file', input, { conversationId, idempotencyKey: 'e' }), first)
  assert.equal((await call('read_file', { path: 'a.txt' }, { conversationId })).output, '1\tx|')
  assert.equal((await call('search_files', { pattern: 'x' }, { conversationId })).output, 'a.txt:1: x|')
})
