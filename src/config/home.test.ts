import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Problem } from '../core/problem.ts'
import { homePath, openHome } from './home.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-home-'))
after(() => rmSync(folder, { recursive: true }))
const ignore = (): void => {}

const problemOf = (work: () => unknown): Problem => {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Problem)
    return error
  }
  assert.fail('there was no problem')
}

test('the default home is .holdfast in the folder of the user', () => {
  assert.equal(homePath(undefined, '/home/ada'), '/home/ada/.holdfast')
  assert.equal(homePath('', '/home/ada'), '/home/ada/.holdfast')
})

test('a tilde that no shell expanded means the folder of the user', () => {
  assert.equal(homePath('~/agents', '/home/ada'), '/home/ada/agents')
  assert.equal(homePath('/srv/~x', '/home/ada'), '/srv/~x')
})

test('a missing home is created with access for its owner only, and can be opened again', () => {
  const home = join(folder, 'deep', 'home')
  assert.equal(openHome(home, ignore), home)
  assert.equal(statSync(home).mode & 0o777, 0o700)
  assert.equal(openHome(home, ignore), home)
})

test('a home that is a file, or is below one, is refused with a way out', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below')]) {
    const problem = problemOf(() => openHome(path, ignore))
    assert.equal(problem.kind, 'invalid')
    assert.ok(problem.message.includes(path))
    assert.match(problem.message, /is a file.*set HOLDFAST_HOME/)
  }
})

test('a home that cannot be created is reported with its path, the reason and a way out', {
  skip: process.platform !== 'linux',
}, () => {
  const problem = problemOf(() => openHome('/proc/holdfast', ignore))
  assert.equal(problem.kind, 'unavailable')
  assert.match(problem.message, /\/proc\/holdfast cannot be used: .*Make it writable/)
})

const modeOf = (path: string): number => statSync(path).mode & 0o7777

test('a home that others may enter is closed to them, with a sentence, and so are its files', () => {
  const home = join(folder, 'open')
  mkdirSync(join(home, 'notes'), { recursive: true })
  for (const name of ['holdfast.db', 'holdfast.db-wal', 'config.yaml', 'secret.key', 'mine.txt'])
    writeFileSync(join(home, name), '')
  chmodSync(home, 0o755)
  for (const name of ['notes', 'holdfast.db', 'holdfast.db-wal', 'config.yaml', 'secret.key', 'mine.txt'])
    chmodSync(join(home, name), 0o755)
  const warnings: string[] = []
  openHome(home, (sentence) => warnings.push(sentence))
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]!, /could enter the home .*open \(mode 755\); now only this user can/)
  const modes = Object.fromEntries(
    ['.', 'notes', 'holdfast.db', 'holdfast.db-wal', 'config.yaml', 'secret.key', 'mine.txt'].map((name) => [
      name,
      modeOf(join(home, name)).toString(8),
    ]),
  )
  assert.deepEqual(modes, {
    '.': '700',
    notes: '700',
    'holdfast.db': '700',
    'holdfast.db-wal': '700',
    'config.yaml': '700',
    // Refused when it is read: others may know the key.
    'secret.key': '755',
    'mine.txt': '755',
  })
  openHome(home, (sentence) => warnings.push(sentence))
  assert.equal(warnings.length, 1)
})

test('an empty folder becomes a private home, also one with the lost+found of a volume', () => {
  const home = join(folder, 'volume')
  mkdirSync(join(home, 'lost+found'), { recursive: true })
  chmodSync(home, 0o775)
  openHome(home, () => assert.fail('nothing was exposed'))
  assert.equal(modeOf(home), 0o700)
})

test('a folder that is shared with other things is refused, and its mode stays', () => {
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'README'), '')
  chmodSync(project, 0o755)
  const scratch = join(folder, 'scratch')
  mkdirSync(scratch)
  chmodSync(scratch, 0o1777)
  for (const [path, mode] of [
    [project, 0o755],
    [scratch, 0o1777],
  ] as const) {
    const problem = problemOf(() => openHome(path, ignore))
    assert.match(problem.message, /is open to other users .*Set HOLDFAST_HOME to a folder of its own, .*\/holdfast/)
    assert.equal(modeOf(path), mode)
  }
})

test('a home of another user is refused, and names the owner and the ways out', {
  skip: process.geteuid?.() === 0 ? false : 'only root can give a folder to another user',
}, () => {
  const home = join(folder, 'foreign')
  mkdirSync(home, { mode: 0o700 })
  chownSync(home, 1234, 1234)
  const { message } = problemOf(() => openHome(home, ignore))
  assert.match(message, /belongs to the user 1234, and this process runs as the user 0.*chown -R 0/)
})
