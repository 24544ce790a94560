import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { assertFault, done, FILE_OPERATIONS, openFilesFixture } from './fixture-files.ts'

test('a file has the same content by every path to it', async (t) => {
  const { files, folder, put } = openFilesFixture(t)
  put('a/b/c.txt', 'here\n')
  symlinkSync('b', join(folder, 'a/link'))
  symlinkSync(join(folder, 'a/b/c.txt'), join(folder, 'absolute'))
  symlinkSync('../files/a', join(folder, 'around'))
  const paths = [
    'a/b/c.txt',
    './a//b/./c.txt',
    'a/../a/b/c.txt',
    'a/link/c.txt',
    'a/link/../b/c.txt',
    'absolute',
    'around/b/c.txt',
    join(folder, 'a/b/c.txt'),
    `${folder}/../files/a/b/c.txt`,
    '../files/a/b/c.txt',
  ]
  for (const path of paths) assert.equal(done(await files.read(path)).text, 'here', path)
})

for (const [name, ask] of FILE_OPERATIONS)
  test(`${name} refuses paths that lead out of the workspace`, async (t) => {
    const { files, folder, outside, put } = openFilesFixture(t)
    put('a/b.txt', 'inside\n')
    symlinkSync(outside, join(folder, 'out'))
    symlinkSync('../outside', join(folder, 'relative'))
    symlinkSync('out', join(folder, 'twice'))
    symlinkSync(join(outside, 'secret.txt'), join(folder, 'secret'))
    symlinkSync(join(outside, 'new.txt'), join(folder, 'dangling'))
    symlinkSync('/', join(folder, 'top'))
    const paths = [
      '..',
      '../outside/secret.txt',
      'a/../../outside/secret.txt',
      '/etc/passwd',
      '/',
      join(outside, 'secret.txt'),
      'out/secret.txt',
      'out/new.txt',
      'out/new/new.txt',
      'relative/secret.txt',
      'twice/secret.txt',
      'secret',
      'dangling',
      'top/etc/passwd',
      `${folder}-beside/x`,
      `${folder}/../outside/secret.txt`,
      '/proc/self/environ',
      'out',
      'twice/..',
    ]
    for (const path of paths) assertFault(await ask(files, path), 'outside', /leads out of the workspace/)
    assert.deepEqual(readdirSync(outside), ['secret.txt'])
    assert.equal(readFileSync(join(outside, 'secret.txt'), 'utf8'), 'a secret\n')
  })

for (const [name, ask] of FILE_OPERATIONS)
  test(`${name} refuses an invalid path with a clear message`, async (t) => {
    const { files, folder } = openFilesFixture(t)
    symlinkSync('loop', join(folder, 'loop'))
    assertFault(await ask(files, ''), 'bad-path', /empty/)
    assertFault(await ask(files, '  '), 'bad-path', /empty/)
    assertFault(await ask(files, 'a\0b'), 'bad-path', /NUL/)
    assertFault(await ask(files, 'a\nb'), 'bad-path', /line break/)
    assertFault(await ask(files, '\ud800'), 'bad-path', /half a character/)
    assertFault(await ask(files, 'a'.repeat(256)), 'bad-path', /255 bytes/)
    assertFault(await ask(files, 'ä'.repeat(128)), 'bad-path', /255 bytes/)
    assertFault(await ask(files, 'a/'.repeat(3_000)), 'bad-path', /4095 bytes/)
    assertFault(await ask(files, 'loop/a'), 'refused', /circles/)
  })

test('a file with the longest allowed name can be written, edited and read', async (t) => {
  const { files, get, replace } = openFilesFixture(t)
  const path = `${'a'.repeat(255)}/${'ä'.repeat(127)}`
  done(await files.write(path, 'one\n'))
  done(await replace(path, 'one', 'two'))
  assert.equal(get(path), 'two\n')
})

test('a path with too many folders is refused and leaves nothing open', async (t) => {
  const { files, folder } = openFilesFixture(t)
  const open = () => readdirSync('/proc/self/fd').length
  const before = open()
  assertFault(await files.write('a/'.repeat(200) + 'x', ''), 'bad-path', /128 folders/)
  assert.equal(open(), before)
  assert.deepEqual(readdirSync(folder), [])
})

for (const [name, ask] of FILE_OPERATIONS)
  test(`${name} refuses pipes and sockets without blocking`, async (t) => {
    const { files, folder } = openFilesFixture(t)
    execFileSync('mkfifo', [join(folder, 'pipe')])
    const server = createServer().listen(join(folder, 'socket'))
    t.after(() => server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    assertFault(await ask(files, 'pipe'), 'not-a-file', /named pipe/)
    assertFault(await ask(files, 'socket'), 'not-a-file', /socket/)
    assertFault(await ask(files, 'pipe/x'), 'not-a-file', /not a folder/)
  })

test('a pipe among other files does not stop a search', async (t) => {
  const { again, folder, put } = openFilesFixture(t)
  execFileSync('mkfifo', [join(folder, 'a-pipe')])
  put('b.txt', 'found\n')
  for (const ripgrep of [undefined, 'none'])
    assert.equal(done(await again(ripgrep ? { ripgrep } : {}).search({ pattern: 'found' })).matches.length, 1)
})

/** Replaces a folder and a file by links to the outside, and back, as fast as it can. */
const SWAPPER = `
const { mkdirSync, renameSync, symlinkSync, writeFileSync, rmSync } = require('node:fs')
const { workerData: { folder, outside }, parentPort } = require('node:worker_threads')
const at = (name) => folder + '/' + name
parentPort.postMessage('ready')
const attempt = (work) => {
  try {
    work()
    return true
  } catch {
    return false
  }
}
for (;;) {
  const isBack = attempt(() => {
    renameSync(at('moving'), at('kept'))
    symlinkSync(outside, at('moving'))
    rmSync(at('moving'))
    renameSync(at('kept'), at('moving'))
  })
  // A write has created the folder again meanwhile, or is still creating a file in it.
  if (!isBack) {
    for (const name of ['moving', 'kept']) attempt(() => rmSync(at(name), { recursive: true, force: true }))
    attempt(() => mkdirSync(at('moving')))
  }
  attempt(() => {
    symlinkSync(outside + '/secret.txt', at('link'))
    renameSync(at('link'), at('file.txt'))
    writeFileSync(at('plain'), 'plain\\n')
    renameSync(at('plain'), at('file.txt'))
  })
}
`

test('a link that is swapped in between check and open is never followed out', async (t) => {
  const { files, again, folder, outside } = openFilesFixture(t)
  mkdirSync(join(folder, 'moving'))
  writeFileSync(join(folder, 'moving/secret.txt'), 'plain\n')
  const swapper = new Worker(SWAPPER, { eval: true, workerData: { folder, outside } })
  await new Promise((resolve) => swapper.once('message', resolve))
  const walker = again({ ripgrep: 'none' })
  const edit = { type: 'replace', find: 'i', replace: 'ii', all: false } as const
  const asks = [
    ...['moving/secret.txt', 'file.txt'].map((path) => () => files.read(path)),
    ...['moving/secret.txt', 'moving/new.txt', 'file.txt'].map((path) => () => files.write(path, 'mine\n')),
    ...['moving/secret.txt', 'file.txt'].map((path) => () => files.edit(path, edit)),
    ...['moving', 'file.txt'].map((path) => () => walker.search({ pattern: 'a secret', path })),
  ]
  const seen = new Map<string, number>()
  // Otherwise the race never happened.
  const isEnough = () => (seen.get('done') ?? 0) > 500 && (seen.get('outside') ?? 0) > 500
  const asking = asks.map(async (ask) => {
    while (!isEnough()) {
      const answer = await ask()
      const name = answer.type === 'fault' ? answer.fault : 'done'
      seen.set(name, (seen.get(name) ?? 0) + 1)
      if (answer.type === 'done') assert.doesNotMatch(JSON.stringify(answer), /a secret/)
    }
  })
  try {
    await Promise.all(asking)
  } finally {
    await swapper.terminate()
    await Promise.allSettled(asking)
  }
  assert.deepEqual(readdirSync(outside), ['secret.txt'])
  assert.equal(readFileSync(join(outside, 'secret.txt'), 'utf8'), 'a secret\n')
  t.diagnostic(JSON.stringify([...seen]))
})
