import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readServerNote, writeServerNote } from './server-file.ts'

test('a process that got the pid of a killed server is not the server', {
  skip: process.platform === 'linux' ? false : 'start times of processes are read from /proc',
}, (context) => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-note-'))
  context.after(() => rmSync(home, { recursive: true }))
  writeServerNote(home, { url: 'http://127.0.0.1:1', pid: process.pid, started: 'now' })
  assert.deepEqual(readServerNote(home), { url: 'http://127.0.0.1:1', pid: process.pid, started: 'now' })
  const file = join(home, 'server.json')
  const note = JSON.parse(readFileSync(file, 'utf8')) as object
  // The parent process is alive, and started at another time.
  writeFileSync(file, JSON.stringify(Object.assign(note, { pid: process.ppid })))
  assert.equal(readServerNote(home), undefined)
})
