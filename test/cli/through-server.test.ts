import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { findServer, newServerConnection } from '../../src/cli/server/server-connection.ts'
import { removeServerNote, writeServerNote } from '../../src/disk/server-file.ts'
import { holdfast, newHome, startHoldfast, startServing } from './holdfast.ts'

test('a server restart during a turn only pauses the output, and nothing is printed twice', async (t) => {
  const home = newHome(t)
  const killed = await startServing(home)
  const run = startHoldfast(['run', 'count to 4'], { home })
  await run.waitForText('2 of 4')
  killed.child.kill('SIGKILL')
  await killed.ended
  await run.waitForText('Lost the connection to the server; waiting for it to restart')
  const server = await startServing(home)
  const { code, stdout, stderr } = await run.ended
  assert.equal(code, 0, stderr)
  assert.match(stderr, /The process running this turn died; another worker continues/)
  assert.equal(stdout.match(/Counted from 1 to 4/g)?.length, 1, stdout)
  const cache = await holdfast(['cache', '--json'], { home })
  assert.equal(JSON.parse(cache.stdout).conversations, 1, cache.stderr)
  assert.match((await holdfast(['cache'], { home })).stdout, /Cached +1 of at most 128 conversations/)
  server.child.kill('SIGTERM')
  await server.ended
})

test('server-sent events are parsed with any line ending and split, without comments and other fields', async (t) => {
  const home = newHome(t)
  const pieces = ['data: o', 'ne\r\n\r', '\n: a comment\n\nid: 7\nevent: step\ndata: two\n', 'data: lines\n\ndata: cut']
  const server = createServer(async (_, response) => {
    for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve))
    response.end()
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeServerNote(home, { url, pid: process.pid, started: '' })
  const line = newServerConnection({ home, givenKey: 'a key', notify: () => {} })
  const heard: string[] = []
  for await (const data of line.streamEvents('/any', t.signal)) heard.push(data)
  assert.deepEqual(heard, ['one', 'two\nlines'])
})

test('a file left by a killed server does not block a command', async (t) => {
  const home = newHome(t)
  writeServerNote(home, { url: 'http://127.0.0.1:9', pid: process.pid, started: '' })
  const { code, stdout, stderr } = await holdfast(['run', 'what time is it'], { home })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\d\d:\d\d/)
})

test('a server is found by its file while its process is alive and healthy', async (t) => {
  const home = newHome(t)
  let status = 200
  const server = createServer((_, response) => void response.writeHead(status).end()).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const note = { url, pid: process.pid, started: '' }
  assert.equal(await findServer(home), undefined)
  writeServerNote(home, note)
  assert.equal(await findServer(home), url)
  status = 500
  assert.equal(await findServer(home), undefined)
  status = 200
  for (const text of [JSON.stringify({ ...note, pid: 2 ** 22 + 1 }), '{"pid":"x"}', '{"url":', '']) {
    writeFileSync(join(home, 'server.json'), text)
    assert.equal(await findServer(home), undefined, text)
  }
  writeServerNote(home, note)
  removeServerNote(home, process.pid + 1)
  assert.equal(await findServer(home), url, 'the file of another server stays')
  removeServerNote(home, process.pid)
  assert.equal(await findServer(home), undefined)
})
