import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { holdfast, startHoldfast } from '../cli/holdfast.ts'
import { missingProgram } from '../harness/programs.ts'
import { newAgent, newPlace, serve, succeed } from './fixture-backup.ts'

/** Enough incompressible bytes that a backup takes a moment. */
function fillNotes(home: string): void {
  mkdirSync(join(home, 'notes'), { recursive: true })
  for (let index = 0; index < 60; index++) writeFileSync(join(home, 'notes', `${index}.md`), randomBytes(1_000_000))
}

/** Resolves when the archive of an unfinished backup has content. */
async function archiveHasContent(folder: string): Promise<void> {
  for (;;) {
    const unfinished = readdirSync(folder).find((name) => name.endsWith('.unfinished'))
    const names = unfinished === undefined ? [] : readdirSync(join(folder, unfinished))
    if (names.includes('archive') && readFileSync(join(folder, unfinished!, 'archive')).length > 100_000) return
    await sleep(2)
  }
}

test('a backup killed in the middle leaves no file with its name, and the next one removes what it left', async (t) => {
  const { home, folder, file, restored } = newPlace(t)
  await succeed(home, 'agents', 'create', 'ada')
  fillNotes(home)
  const killed = startHoldfast(['backup', file], { home })
  await archiveHasContent(folder)
  killed.child.kill('SIGKILL')
  await killed.ended
  assert.ok(!readdirSync(folder).includes('backup.tar.gz'))
  await succeed(home, 'backup', file)
  assert.deepEqual(readdirSync(folder).sort(), ['backup.tar.gz', 'home'])
  await succeed(restored, 'restore', file)
})

test('a backup killed while it replaces an older one leaves the older one', async (t) => {
  const { home, folder, file, restored } = newPlace(t)
  await succeed(home, 'agents', 'create', 'ada')
  await succeed(home, 'backup', file)
  const before = readFileSync(file)
  fillNotes(home)
  const killed = startHoldfast(['backup', file, '--force'], { home })
  await archiveHasContent(folder)
  killed.child.kill('SIGKILL')
  await killed.ended
  assert.deepEqual(readFileSync(file), before)
  await succeed(restored, 'restore', file)
})

test('a server killed during a backup does not spoil it', async (t) => {
  const { home, folder, file, restored } = newPlace(t)
  const server = await serve(t, home)
  const agent = await newAgent(server, 'ada')
  await server.say(agent, 'remember that Ada likes tea')
  fillNotes(home)
  const backup = startHoldfast(['backup', file], { home })
  await archiveHasContent(folder)
  server.child.kill('SIGKILL')
  const { code, stderr } = await backup.ended
  assert.equal(code, 0, stderr)
  await succeed(restored, 'restore', file)
  const again = await serve(t, restored)
  assert.match(await again.say(agent, 'what do you remember'), /Ada likes tea/)
})

test('a backup that does not fit leaves nothing', { skip: missingProgram('prlimit') }, async (t) => {
  const { home, folder, file } = newPlace(t)
  await succeed(home, 'agents', 'create', 'ada')
  fillNotes(home)
  const backup = startHoldfast(['backup', file], { home })
  // As on a full disk, a write fails in the middle.
  execFileSync('prlimit', ['--pid', String(backup.child.pid), `--fsize=${20_000_000}:unlimited`])
  const { code, stderr } = await backup.ended
  assert.notEqual(code, 0)
  assert.match(stderr, /was not written: the file would be larger/)
  assert.deepEqual(readdirSync(folder), ['home'])
})

test('a restore killed in the middle leaves the home empty, and can be repeated', async (t) => {
  const { home, folder, file, restored } = newPlace(t)
  await succeed(home, 'agents', 'create', 'ada')
  fillNotes(home)
  await succeed(home, 'backup', file)
  const killed = startHoldfast(['restore', file], { home: restored })
  while (!readdirSync(folder).some((name) => name.endsWith('.unfinished'))) await sleep(2)
  killed.child.kill('SIGKILL')
  await killed.ended
  assert.ok(!readdirSync(folder).includes('restored'))
  await succeed(restored, 'restore', file)
  assert.deepEqual(readdirSync(folder).sort(), ['backup.tar.gz', 'home', 'restored'])
  assert.equal((await holdfast(['doctor'], { home: restored })).code, 0)
})
