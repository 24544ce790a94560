import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { newKeyedMutex } from '../../src/core/mutex.ts'
import type { FileEdit } from '../../src/ports/workspace-files.ts'
import { newAppliedKeys } from '../../src/workspaces/supervisor/files/applied-keys.ts'
import { editFile } from '../../src/workspaces/supervisor/files/change-file.ts'
import { removeLeftover } from '../../src/workspaces/supervisor/files/replace-file.ts'
import { assertFault, done, openFilesFixture } from './fixture-files.ts'

const GROW: FileEdit = { type: 'replace', find: '|', replace: 'x|', all: false }

test('a repeated edit gets its first answer and is not made again', async (t) => {
  const { files, again, get, put } = openFilesFixture(t)
  put('a.txt', '|')
  const first = await files.edit('a.txt', GROW, 'one')
  assert.deepEqual(await files.edit('a.txt', GROW, 'one'), first)
  assert.deepEqual(await again().edit('a.txt', GROW, 'one'), first)
  assert.equal(get('a.txt'), 'x|')
  done(await again().edit('a.txt', GROW, 'two'))
  assert.equal(get('a.txt'), 'xx|')
})

test('the same edit sent many times at once is made once', async (t) => {
  const { files, get, put } = openFilesFixture(t)
  put('a.txt', '|')
  const answers = await Promise.all(Array.from({ length: 20 }, () => files.edit('a.txt', GROW, 'one')))
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  assert.equal(get('a.txt'), 'x|')
})

test('a repeated write gets its first answer and keeps later changes', async (t) => {
  const { files, again, get } = openFilesFixture(t)
  const first = done(await files.write('a.txt', 'mine', 'one'))
  assert.equal(first.isNew, true)
  done(await files.write('a.txt', 'yours', 'two'))
  assert.deepEqual(await again().write('a.txt', 'mine', 'one'), first)
  assert.equal(get('a.txt'), 'yours')
})

test('a refused edit is tried again when it is repeated', async (t) => {
  const { files, get, put } = openFilesFixture(t)
  assertFault(await files.edit('a.txt', GROW, 'one'), 'missing')
  put('a.txt', '|')
  done(await files.edit('a.txt', GROW, 'one'))
  assert.equal(get('a.txt'), 'x|')
})

test('an edit that was recorded but not applied before a crash is applied when it is repeated', async (t) => {
  const { again, folder, get, place, put } = openFilesFixture(t)
  put('deep/a.txt', '|')
  const keys = newAppliedKeys({
    path: join(place, 'journal'),
    removeLeftover: (path, before) => removeLeftover(folder, path, before),
  })
  const dying = {
    ...keys,
    async record(...record: Parameters<typeof keys.record>) {
      await keys.record(...record)
      // From here on the rename fails, as if the process had died.
      rmSync(join(folder, 'deep/a.txt'))
      mkdirSync(join(folder, 'deep/a.txt'))
    },
    undo: () => Promise.reject(new Error('long dead')),
  }
  const home = { root: folder, mutex: newKeyedMutex(), keys: dying, spaceLeft: () => undefined }
  await assert.rejects(editFile(home, { path: 'deep/a.txt', edit: GROW, key: 'one' }), /long dead/)
  rmSync(join(folder, 'deep/a.txt'), { recursive: true })
  put('deep/a.txt', '|')
  assert.equal(readdirSync(join(folder, 'deep')).length, 2, 'what it left behind')

  done(await again().edit('deep/a.txt', GROW, 'one'))
  assert.equal(get('deep/a.txt'), 'x|')
  done(await again().edit('deep/a.txt', GROW, 'one'))
  assert.equal(get('deep/a.txt'), 'x|')
  assert.deepEqual(readdirSync(join(folder, 'deep')), ['a.txt'])
})

test('a partial line, invalid lines or a flood in the journal lose no other key', async (t) => {
  const { files, again, get, place, put } = openFilesFixture(t)
  put('a.txt', '|')
  done(await files.edit('a.txt', GROW, 'one'))
  appendFileSync(join(place, 'journal'), 'nonsense\nnull\n{"key":1}\n{"key":"two","temp')
  done(await again().edit('a.txt', GROW, 'two'))
  done(await again().edit('a.txt', GROW, 'one'))
  done(await again().edit('a.txt', GROW, 'two'))
  assert.equal(get('a.txt'), 'xx|')
})

test('a journal that a command replaced or removed is created again', async (t) => {
  const { again, get, outside, place, put } = openFilesFixture(t)
  put('a.txt', '|')
  const journal = join(place, 'journal')
  const replacements = [
    () => mkdirSync(join(journal, 'deep'), { recursive: true }),
    () => symlinkSync(join(outside, 'secret.txt'), journal),
    () => spawnSync('mkfifo', [journal]),
    () => {},
  ]
  for (const [index, replace] of replacements.entries()) {
    const files = again()
    done(await files.edit('a.txt', GROW, `first ${index}`))
    rmSync(journal, { recursive: true, force: true })
    replace()
    done(await files.edit('a.txt', GROW, `second ${index}`))
    done(await again().edit('a.txt', GROW, `second ${index}`))
  }
  assert.equal(get('a.txt'), 'xxxxxxxx|')
  assert.equal(readFileSync(join(outside, 'secret.txt'), 'utf8'), 'a secret\n')
})

test('the journal stays small after many writes, and keeps the latest keys', async (t) => {
  const { place } = openFilesFixture(t)
  const home = { path: join(place, 'journal'), removeLeftover: async () => {}, maxKept: 20 }
  const keys = newAppliedKeys(home)
  const answer = { type: 'done', bytes: 1, isNew: true } as const
  for (let count = 0; count < 200; count += 1) await keys.record(`key ${count}`, answer, 'none.tmp')
  assert.ok(readFileSync(home.path, 'utf8').split('\n').filter(Boolean).length <= 81)
  const later = newAppliedKeys(home)
  assert.deepEqual(await later.find('key 199'), answer)
  assert.deepEqual(await later.find('key 180'), answer)
  assert.equal(await later.find('key 5'), undefined)
})

const HANDLER = new URL('../../src/workspaces/supervisor/files/file-handler.ts', import.meta.url)

/** Answers requests, one per line, until it is killed. */
const PROGRAM = `
import { createInterface } from 'node:readline'
import { newFileHandler } from ${JSON.stringify(HANDLER.href)}
const handler = newFileHandler(process.argv[2], { journal: process.argv[3] })
for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await handler.answer(JSON.parse(line))))
`

test('each edit is made once, whenever the supervisor is killed', async (t) => {
  const { folder, place, put, get } = openFilesFixture(t)
  writeFileSync(join(place, 'program.mjs'), PROGRAM)
  put('a.txt', '|')
  const children: ChildProcess[] = []
  t.after(() => children.map((child) => child.kill('SIGKILL')))
  const kills = 4
  let edits = 0
  let repeats = 0
  for (let round = 0; round <= kills; round += 1) {
    const child = spawn(process.execPath, [join(place, 'program.mjs'), folder, join(place, 'journal')])
    children.push(child)
    // A request may be written to a process that was just killed (EPIPE); the end of its output, read below, tells
    // that.
    child.stdin.on('error', () => {})
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const isLast = round === kills
    let sinceStart = 0
    for (;;) {
      const request = { type: 'edit', path: 'a.txt', edit: GROW, key: `key ${edits}` }
      child.stdin.write(`${JSON.stringify(request)}\n`)
      // Somewhere inside the next edit: the first one loads the journal, the others take a few milliseconds.
      if (!isLast && sinceStart === 1 + (round % 3)) setTimeout(() => child.kill('SIGKILL'), (round * 7) % 10)
      const { value, done: isOver } = await answers.next()
      if (isOver) {
        repeats += 1
        break
      }
      assert.equal(JSON.parse(value).type, 'done', value)
      edits += 1
      sinceStart += 1
      if (isLast && sinceStart > 3) break
    }
    child.stdin.destroy()
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  assert.equal(get('a.txt'), `${'x'.repeat(edits)}|`)
  assert.ok(repeats >= kills / 2)
  assert.deepEqual(readdirSync(folder), ['a.txt'])
})

const TINY = ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=200k none "$0" && exec "$@"']
const canMount = spawnSync('unshare', [...TINY, tmpdir(), 'true']).status === 0

test('a full disk leaves the old content', { skip: canMount ? false : 'no unshare that may mount here' }, async (t) => {
  const { place } = openFilesFixture(t)
  const folder = join(place, 'tiny')
  mkdirSync(folder)
  writeFileSync(join(place, 'program.mjs'), PROGRAM)
  const requests = [
    { type: 'write', path: 'a.txt', text: 'old content\n' },
    { type: 'write', path: 'a.txt', text: 'x'.repeat(300_000) },
    { type: 'write', path: 'a.txt', text: 'x'.repeat(300_000), key: 'keyed' },
    { type: 'edit', path: 'a.txt', edit: { type: 'replace', find: 'old', replace: 'y'.repeat(250_000), all: true } },
    { type: 'write', path: 'b.txt', text: 'z'.repeat(150_000) },
    { type: 'read', path: 'a.txt' },
    { type: 'read', path: '.' },
  ]
  const child = spawnSync(
    'unshare',
    [...TINY, folder, process.execPath, join(place, 'program.mjs'), folder, join(folder, 'journal')],
    { input: requests.map((request) => `${JSON.stringify(request)}\n`).join(''), encoding: 'utf8' },
  )
  const answers = child.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    answers.map((answer) => answer.type),
    ['done', 'fault', 'fault', 'fault', 'done', 'done', 'fault'],
    child.stderr,
  )
  for (const answer of answers.slice(1, 4)) assertFault(answer, 'refused', /no room left/)
  assert.equal(answers[5].text, 'old content')
  assert.doesNotMatch(answers[6].message, /holdfast/)
})

test('a change whose key cannot be recorded is not made', {
  skip: canMount ? false : 'no unshare that may mount here',
}, async (t) => {
  const { folder, place } = openFilesFixture(t)
  const spool = join(folder, 'spool')
  mkdirSync(spool)
  writeFileSync(join(place, 'program.mjs'), PROGRAM)
  const requests = [
    { type: 'write', path: 'a.txt', text: 'old' },
    { type: 'write', path: 'spool/all-of-it', text: 'x'.repeat(200 * 1024) },
    { type: 'write', path: 'a.txt', text: 'new', key: 'one' },
    { type: 'read', path: 'a.txt' },
  ]
  const child = spawnSync(
    'unshare',
    [...TINY, spool, process.execPath, join(place, 'program.mjs'), folder, join(spool, 'journal')],
    { input: requests.map((request) => `${JSON.stringify(request)}\n`).join(''), encoding: 'utf8' },
  )
  const answers = child.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assertFault(answers[2], 'refused', /no room left/)
  assert.equal(answers[3].text, 'old')
  assert.deepEqual(readdirSync(folder), ['a.txt', 'spool'])
})
