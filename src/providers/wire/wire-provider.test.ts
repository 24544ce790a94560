import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { ModelRequest } from '../../ports/model.ts'
import { openaiChat } from '../openai/chat.ts'
import {
  ANSWER,
  ANSWER_PARTS,
  DONE,
  delta,
  event,
  nextLoopTurn,
  onlyFailure,
  providerAt,
  REQUEST,
  read,
  STOP,
} from './testing/chat-client.ts'
import {
  CHUNKED_HEAD,
  chunked,
  LAST_CHUNK,
  type LoopbackRequest,
  openLoopback,
  STREAM_HEAD,
  wholeResponse,
} from './testing/loopback.ts'

test('an answer arrives as parts, and the next request reuses the connection', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(ANSWER) + LAST_CHUNK)
  })
  const provider = providerAt(server.url, { quirks: { query: { version: '1' }, headers: { 'x-team': 'owls' } } })
  assert.deepEqual(await read(provider), ANSWER_PARTS)
  await nextLoopTurn()
  assert.deepEqual(await read(provider), ANSWER_PARTS)
  assert.equal(server.connections.length, 1)
  const { path, headers, body } = server.requests[0]!
  assert.equal(path, '/v1/chat/completions?version=1')
  assert.equal(headers['x-team'], 'owls')
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(JSON.parse(body).model, 'model-1')
})

const INERT = { digest: '', needsApproval: false, effects: 'none', parallel: true } as const

test('a lone surrogate in the history does not make every request of its conversation invalid JSON', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(ANSWER) + LAST_CHUNK)
  })
  const cut = 'owl 🦉, cut \ud83e'
  const request: ModelRequest = {
    ...REQUEST,
    system: cut,
    messages: [
      { role: 'user', content: [{ type: 'text', text: `${cut}; as text \\ud83e, C:\\users` }] },
      { role: 'assistant', content: [], calls: [{ ...INERT, callId: 'call-1', tool: 'say', input: { [cut]: cut } }] },
      { role: 'tool', outcomes: [{ callId: 'call-1', status: 'success', output: cut }] },
    ],
  }
  for await (const part of providerAt(server.url).stream(request, { signal: new AbortController().signal }))
    assert.notEqual(part.type, 'failure')
  const whole = 'owl 🦉, cut \ufffd'
  const [system, input, called, result] = JSON.parse(server.requests[0]!.body).messages
  assert.equal(system.content, whole)
  assert.equal(input.content, `${whole}; as text \\ud83e, C:\\users`)
  assert.equal(called.tool_calls[0].function.arguments, JSON.stringify({ [whole]: whole }))
  assert.equal(result.content, whole)
})

test('the request is sent with the first read, and a grant sets its key, headers and base URL', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(ANSWER) + LAST_CHUNK)
  })
  const provider = providerAt('http://127.0.0.1:1/unused')
  const grant = {
    credentialId: 'credential-1',
    secret: 'secret-1\n',
    kind: 'api-key',
    headers: { 'x-account': 'a1' },
    baseUrl: server.url,
  } as const
  const stream = provider.stream(REQUEST, { signal: new AbortController().signal, grant })
  await nextLoopTurn()
  assert.equal(server.requests.length, 0)
  for await (const part of stream) assert.notEqual(part.type, 'failure')
  assert.equal(server.requests[0]!.headers.authorization, 'Bearer secret-1')
  assert.equal(server.requests[0]!.headers['x-account'], 'a1')
})

test('an answer that arrives byte by byte reads the same', async (context) => {
  const bytes = Buffer.from(CHUNKED_HEAD + chunked(ANSWER) + LAST_CHUNK)
  const server = await openLoopback(context, async ({ socket }) => {
    for (const byte of bytes) {
      socket.write(Buffer.of(byte))
      await nextLoopTurn()
    }
  })
  assert.deepEqual(await read(providerAt(server.url)), ANSWER_PARTS)
})

test('an answer that is split into two packets at any byte reads the same', async (context) => {
  const bytes = Buffer.from(CHUNKED_HEAD + chunked(ANSWER) + LAST_CHUNK)
  let split = 0
  const server = await openLoopback(context, async ({ socket }) => {
    const at = split++
    socket.write(bytes.subarray(0, at))
    await nextLoopTurn()
    await nextLoopTurn()
    socket.write(bytes.subarray(at))
  })
  const provider = providerAt(server.url)
  while (split < bytes.length) assert.deepEqual(await read(provider), ANSWER_PARTS)
})

test('a reset or an end at any byte gives one failure, unless the finish came before', async (context) => {
  const body = Buffer.from(ANSWER)
  const head = Buffer.from(STREAM_HEAD)
  const bytes = Buffer.concat([head, body])
  const finishStated = head.length + Buffer.byteLength(ANSWER.slice(0, ANSWER.indexOf(STOP) + STOP.length - 1))
  let cut = 0
  let how: 'reset' | 'end' = 'reset'
  const server = await openLoopback(context, async ({ socket }) => {
    socket.write(bytes.subarray(0, cut))
    await nextLoopTurn()
    await nextLoopTurn()
    if (how === 'reset') socket.resetAndDestroy()
    else socket.end()
  })
  const provider = providerAt(server.url)
  for (cut = 0; cut < bytes.length; cut += 3) {
    for (how of ['reset', 'end'] as const) {
      const parts = await read(provider)
      const last = parts.at(-1)
      if (how === 'end' && cut >= finishStated) assert.equal(last?.type, 'finish', `an end at ${cut}`)
      // A reset may overtake bytes that were written earlier.
      else if (last?.type === 'finish') assert.ok(cut >= finishStated, `${how} at ${cut} was taken for an end`)
      else {
        const failure = onlyFailure(parts)
        assert.equal(failure.kind, 'cut-off')
        assert.equal(failure.mayHaveBeenAccepted, true)
      }
    }
  }
  assert.equal(server.requests.length, 2 * Math.ceil(bytes.length / 3))
})

test('a chunked stream that ends cleanly without a finish is cut off', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(delta('half')) + LAST_CHUNK)
  })
  const failure = onlyFailure(await read(providerAt(server.url)))
  assert.equal(failure.kind, 'cut-off')
  assert.equal(failure.mayHaveBeenAccepted, true)
  assert.equal(failure.requestId, 'request-7')
})

const documents: [string, string, string, string][] = [
  ['an HTML page of a gateway', '502 Bad Gateway', 'text/html', '<html>502</html>'],
  ['a JSON error', '429 Too Many Requests', 'application/json', '{"error":{"message":"slow down"}}'],
  ['a JSON error inside a 200', '200 OK', 'application/json', '{"error":{"message":"no"}}'],
  ['a login page inside a 200', '200 OK', 'text/html; charset=utf-8', '<!doctype html><title>Log in</title>'],
  ['a JSON error that calls itself a stream', '200 OK', 'text/event-stream', ' \n{"error":{"message":"no"}}'],
  ['a page without a type', '200 OK', 'application/octet-stream', '<html></html>'],
  ['a redirect', '302 Found', 'text/plain', 'elsewhere'],
  ['an empty error', '500 Oops', 'text/plain', ''],
]
for (const [name, status, contentType, body] of documents) {
  test(`${name} is classified and not parsed`, async (context) => {
    const server = await openLoopback(context, ({ socket }) => {
      socket.write(wholeResponse(status, contentType, body))
    })
    const failure = onlyFailure(await read(providerAt(server.url)))
    assert.equal(failure.kind, 'server-error')
    assert.equal(failure.detail, `${contentType}: ${body}`)
    assert.equal(failure.status, Number(status.slice(0, 3)))
    assert.equal(server.requests.length, 1)
  })
}

test('64 KiB of an endless error page are read, then the connection is closed', async (context) => {
  let closed: Promise<unknown> | undefined
  const server = await openLoopback(context, ({ socket }) => {
    closed = once(socket, 'close')
    socket.write('HTTP/1.1 500 Oops\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n')
    const more = () => !socket.destroyed && socket.write(chunked('x'.repeat(16 * 1024)), () => setImmediate(more))
    more()
  })
  const failure = onlyFailure(await read(providerAt(server.url)))
  assert.equal(failure.detail.length, 'text/plain: '.length + 64 * 1024)
  await closed
})

test('an error page that stalls is classified by its received part', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write('HTTP/1.1 503 Busy\r\ncontent-type: text/plain\r\ncontent-length: 99\r\n\r\ntry later')
  })
  const failure = onlyFailure(await read(providerAt(server.url, { deadlines: { stallMs: 100 } })))
  assert.equal(failure.detail, 'text/plain: try later')
})

test('an error event inside a 200 goes to the classifier', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked(delta('so ') + event({ error: { message: 'busy', code: 529 } })))
  })
  const parts = await read(providerAt(server.url))
  assert.deepEqual(parts[0], { type: 'text-delta', text: 'so ' })
  const failure = onlyFailure(parts)
  assert.equal(failure.status, 529)
  assert.match(failure.detail, /busy/)
  assert.equal(failure.requestId, 'request-7')
})

test('a chunk that is not JSON is a malformed answer', async (context) => {
  const server = await openLoopback(context, ({ socket }) => {
    socket.write(CHUNKED_HEAD + chunked('data: {"choices":[{"delta"\n\n' + STOP + DONE) + LAST_CHUNK)
  })
  assert.equal(onlyFailure(await read(providerAt(server.url))).kind, 'malformed-answer')
})

test('an invalid base URL is a failed attempt', async () => {
  for (const baseUrl of ['not a url', 'ftp://127.0.0.1/', '']) {
    const failure = onlyFailure(await read(providerAt(baseUrl)))
    assert.equal(failure.kind, 'unreachable')
    assert.match(failure.detail, /base URL/)
  }
})

test('a request that cannot be encoded is a failed attempt', async () => {
  const dialect = {
    ...openaiChat,
    encode() {
      throw new Error('no words')
    },
  }
  const failure = onlyFailure(await read(providerAt('http://127.0.0.1:1', { dialect })))
  assert.equal(failure.kind, 'invalid-request')
})

test('a header that cannot be sent is a failed attempt', async (context) => {
  const server = await openLoopback(context, () => {})
  const quirks = { headers: { 'x-bad': 'two\nlines' } }
  const failure = onlyFailure(await read(providerAt(server.url, { quirks })))
  assert.equal(failure.kind, 'invalid-request')
  assert.match(failure.detail, /x-bad/)
})

test('a refused connection is a failure of the connect phase', async (context) => {
  const server = await openLoopback(context, () => {})
  const provider = providerAt(server.url.replace(String(server.port), '1'))
  const failure = onlyFailure(await read(provider))
  assert.equal(failure.kind, 'unreachable')
  assert.equal(failure.mayHaveBeenAccepted, undefined)
})

test('renewConnections opens new connections and lets streams on old ones finish', async (context) => {
  let held: LoopbackRequest | undefined
  const server = await openLoopback(context, (request) => {
    if (server.requests.length === 2) held = request
    else request.socket.write(CHUNKED_HEAD + chunked(ANSWER) + LAST_CHUNK)
  })
  const provider = providerAt(server.url)
  assert.deepEqual(await read(provider), ANSWER_PARTS)
  await nextLoopTurn()
  const running = read(provider)
  await until(context, () => held !== undefined)
  const closed = once(held!.socket, 'close')
  await provider.renewConnections?.()
  assert.deepEqual(await read(provider), ANSWER_PARTS)
  assert.equal(server.connections.length, 2)
  held!.socket.write(CHUNKED_HEAD + chunked(ANSWER) + LAST_CHUNK)
  assert.deepEqual(await running, ANSWER_PARTS)
  await closed
})

async function until(context: TestContext, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) {
    if (context.signal.aborted) throw new Error('the test ended before it happened')
    await nextLoopTurn()
  }
}
