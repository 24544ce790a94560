import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { readForm, type UploadedFile } from '../../src/http/multipart.ts'
import { FILE_LIMIT, newUploads } from '../../src/http/uploads.ts'
import { caseCount } from '../harness/case-count.ts'
import { seededFraction } from '../harness/seeded.ts'

function uploadsFor(context: TestContext) {
  const folder = join(mkdtempSync(join(tmpdir(), 'holdfast-uploads-test-')), 'uploads')
  context.after(() => rmSync(join(folder, '..'), { recursive: true, force: true }))
  mkdirSync(folder)
  writeFileSync(join(folder, 'left-by-a-crash'), 'x')
  return { folder, uploads: newUploads(folder) }
}

const upload = (more: object = {}) => ({
  caller: 'key',
  read: (bytes: Buffer) => bytes.length,
  whenAnswered: (release: () => void) => release(),
  ...more,
})

test('files left by a crash are removed at start, and no file stays after its request, whatever becomes of it', async (context) => {
  const { folder, uploads } = uploadsFor(context)
  assert.deepEqual(readdirSync(folder), [])
  assert.equal(await uploads.receive(Readable.from([Buffer.alloc(10), Buffer.alloc(20)]), upload()), 30)
  const failing = { read: () => assert.fail('not a form') }
  await assert.rejects(uploads.receive(Readable.from([Buffer.alloc(10)]), upload(failing)), /not a form/)
  const large = Readable.from(Array.from({ length: 70 }, () => Buffer.alloc(1_048_576)))
  await assert.rejects(uploads.receive(large, upload()), new RegExp(`larger than ${FILE_LIMIT} bytes`))
  assert.deepEqual(readdirSync(folder), [])
  uploads.close()
  assert.ok(!existsSync(folder))
})

test('one file is in memory at a time, and the files of a caller on disk are limited', async (context) => {
  const { uploads } = uploadsFor(context)
  context.after(() => uploads.close())
  const releases: (() => void)[] = []
  const reads: number[] = []
  const waiting = upload({
    read: (bytes: Buffer) => reads.push(bytes.length),
    whenAnswered: (release: () => void) => void releases.push(release),
  })
  const received = [1, 2, 3, 4].map((size) => uploads.receive(Readable.from([Buffer.alloc(size)]), waiting))
  await assert.rejects(uploads.receive(Readable.from([Buffer.alloc(5)]), waiting), /at most 4 per key/)
  for (let count = 1; count <= 4; count++) {
    while (releases.length < count) await new Promise(setImmediate)
    assert.equal(reads.length, count)
    releases[count - 1]!()
  }
  await Promise.all(received)
})

test('a form is read as the Fetch API reads it, for any form', async () => {
  const fraction = seededFraction(7)
  const below = (most: number) => Math.floor(fraction() * most)
  const pieces = ['', 'a', '\r\n', '--', '--x', '\r\n--', '"', 'é', '\0', ': ', '\n']
  const text = () => Array.from({ length: below(6) }, () => pieces[below(pieces.length)]).join('')
  for (let count = 0; count < caseCount(400); count++) {
    const form = new FormData()
    for (let field = below(4); field > 0; field--) form.set(`field${field}`, text().replaceAll(/\r\n|\r|\n/g, ' '))
    const content = text()
    form.set('file', new File([content], `${text().replaceAll(/[\r\n]/g, '')}.af`))
    const request = new Response(form)
    const type = request.headers.get('content-type')!
    const read = readForm(Buffer.from(await request.arrayBuffer()), type)
    for (const [name, value] of form) {
      const found = read[name]
      if (value === '') assert.equal(found, undefined)
      else if (typeof value === 'string') assert.equal(found, value)
      else assert.equal((found as UploadedFile).bytes.toString(), content)
    }
  }
})

test('what is not a form is refused, at any cut and with any byte changed', async () => {
  const form = new FormData()
  form.set('file', new File(['content'], 'agent.af'))
  const response = new Response(form)
  const type = response.headers.get('content-type')!
  const body = Buffer.from(await response.arrayBuffer())
  for (let length = 0; length < body.length - 4; length++)
    assert.throws(() => readForm(body.subarray(0, length), type), /not a valid multipart form/)
  for (let index = 0; index < body.length; index++) {
    const changed = Buffer.from(body)
    changed[index]! ^= 1
    try {
      readForm(changed, type)
    } catch (fault) {
      assert.match(String(fault), /not a valid multipart form/)
    }
  }
  assert.throws(() => readForm(body, 'multipart/form-data'), /not a valid multipart form/)
})
