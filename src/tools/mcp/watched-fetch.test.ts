import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RefusedFetch } from '../../ports/safe-fetch.ts'
import { watchedFetch } from './watched-fetch.ts'

const ORIGIN = 'https://tools.example'
const MEGABYTE = 1024 * 1024

/** A server that sends `pieces`, one after the other. */
const answering = (type: string, pieces: () => Iterable<string>) =>
  watchedFetch({
    origin: ORIGIN,
    onCall: () => () => undefined,
    fetch: async () => {
      const bytes = ReadableStream.from(encoded(pieces()))
      return new Response(bytes, { headers: { 'content-type': type } })
    },
  })

function* encoded(pieces: Iterable<string>) {
  for (const piece of pieces) yield new TextEncoder().encode(piece)
}

function* many(piece: string) {
  for (let count = 0; count < 40; count++) yield piece
}

async function lengthOf(response: Response): Promise<number> {
  let length = 0
  for await (const piece of response.body!) length += piece.byteLength
  return length
}

test('an event stream has no size limit, but a single event does', async () => {
  const event = `data: ${'x'.repeat(MEGABYTE)}\n\n`
  const long = answering('text/event-stream; charset=utf-8', () => many(event))
  assert.equal(await lengthOf(await long.fetch(`${ORIGIN}/mcp`)), 40 * event.length)
  const endless = answering('text/event-stream', () => many('x'.repeat(MEGABYTE)))
  await assert.rejects(lengthOf(await endless.fetch(`${ORIGIN}/mcp`)), /more than \d+ bytes/)
})

test('an answer that is one document has a size limit', async () => {
  const large = answering('application/json', () => many(`${'x'.repeat(MEGABYTE)}\n\n`))
  await assert.rejects(lengthOf(await large.fetch(`${ORIGIN}/mcp`)), /more than \d+ bytes/)
})

test('a request to another origin than the server is refused', async () => {
  const { fetch } = answering('text/plain', () => ['secret'])
  for (const url of ['https://other.example/mcp', 'http://tools.example/mcp', 'https://tools.example:8443/mcp'])
    await assert.rejects(fetch(url), RefusedFetch)
})
