import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newPageReader } from './page-reader.ts'

const htmlOf = (text: string) => ({
  url: 'https://example.com/page',
  contentType: 'text/html',
  bytes: new TextEncoder().encode(`<p>${text}</p>`),
})
const { signal } = new AbortController()

test('pages read at once and one after another each get their own text', async () => {
  const reader = newPageReader()
  reader.prepare()
  const names = Array.from({ length: 12 }, (_, index) => `page ${index}`)
  const read = await Promise.all(names.map((name) => reader.read(htmlOf(name), signal)))
  assert.deepEqual(
    read,
    names.map((text) => ({ title: '', text })),
  )
  for (const text of names) assert.deepEqual(await reader.read(htmlOf(text), signal), { title: '', text })
})

test('a stopped page and one that ends its thread do not reach the page after them', async () => {
  const reader = newPageReader()
  await reader.read(htmlOf('first'), signal)
  const stopping = new AbortController()
  const stopped = reader.read(htmlOf('stopped '.repeat(100_000)), stopping.signal)
  stopping.abort()
  assert.deepEqual(await stopped, { fault: 'It was not read: the call was stopped.' })
  // A page that the thread cannot read at all ends it with an error.
  const broken = await reader.read({ ...htmlOf('x'), bytes: 7 as never }, signal)
  assert.match('fault' in broken ? broken.fault : '', /^It could not be read: /)
  assert.deepEqual(await reader.read(htmlOf('next'), signal), { title: '', text: 'next' })
})
