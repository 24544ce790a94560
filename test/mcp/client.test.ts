import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type ServedTool, text } from '../harness/mcp-server.ts'
import { addressOf, openMcpClientFixture, TRANSPORTS } from './fixture-client.ts'

const echo: ServedTool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { words: { type: 'string' } } },
  annotations: { readOnlyHint: true },
  run: ({ words }) => text(`${words}`),
}
const save: ServedTool = { name: 'save', annotations: { idempotentHint: true }, run: () => text('saved') }
const pay: ServedTool = { name: 'pay', run: () => text('paid') }

/** A tool that answers when released, and a way to wait until it was called. */
function held(name = 'hold') {
  const called = Promise.withResolvers<void>()
  const { promise: answer, resolve } = Promise.withResolvers<unknown>()
  const tool: ServedTool = {
    name,
    run: () => {
      called.resolve()
      return answer
    },
  }
  return { tool, called: called.promise, answer: resolve }
}

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

for (const type of TRANSPORTS) {
  test(`${type}: all pages of tools are listed, with the effects of each`, async (t) => {
    const { mcp, remote, server } = await openMcpClientFixture(t, [echo, save, pay])
    const listing = await mcp.list(server(addressOf(remote, type)))
    assert.equal(listing.type, 'listed')
    const tools = listing.type === 'listed' ? listing.tools : []
    assert.deepEqual(
      tools.map(({ name, effects }) => [name, effects]),
      [
        ['echo', 'none'],
        ['save', 'idempotent'],
        ['pay', 'once'],
      ],
    )
    assert.deepEqual(tools[0]!.inputSchema, echo.inputSchema)
  })

  test(`${type}: a call returns the result of the tool, and reports its progress`, async (t) => {
    const { promise: isHeard, resolve: hear } = Promise.withResolvers<void>()
    const walk: ServedTool = {
      name: 'walk',
      async run(_, { progress }) {
        await progress('half way')
        await isHeard
        return text('there')
      },
    }
    const { remote, server, call } = await openMcpClientFixture(t, [walk])
    const heard: string[] = []
    const progress = (words: string) => {
      heard.push(words)
      hear()
    }
    const answer = await call(server(addressOf(remote, type)), 'walk', { progress })
    assert.deepEqual(answer, { status: 'success', output: 'there' })
    assert.deepEqual(heard, ['half way'])
    assert.equal(remote.calls[0]!.idempotencyKey, 'key-1')
  })

  test(`${type}: a stopped call is cancelled at the server too, and its outcome is unknown`, async (t) => {
    const { tool, called } = held()
    const { remote, server, call } = await openMcpClientFixture(t, [tool])
    const stop = new AbortController()
    const answer = call(server(addressOf(remote, type)), 'hold', { signal: stop.signal, session: 'one' })
    await called
    stop.abort('cancelled')
    assert.equal((await answer).status, 'unknown')
    await until(() => remote.calls[0]!.isCancelled)
    // The cancellation is sent, not implied by the closed connection: initialize, initialized, the list, the call,
    // cancelled.
    assert.equal(remote.requests.filter(({ method }) => method === 'POST').length, 5)
  })

  test(`${type}: a connection that breaks during a call makes its outcome unknown at once; the call is not retried`, async (t) => {
    const { tool, called } = held()
    const { remote, server, call } = await openMcpClientFixture(t, [tool])
    const answer = call(server(addressOf(remote, type)), 'hold')
    await called
    remote.cut()
    const { status, output } = await answer
    assert.equal(status, 'unknown')
    assert.match(output, /may or may not have taken effect/)
    assert.equal(remote.calls.length, 1)
  })

  test(`${type}: two conversations never share a session, and each reuses its own`, async (t) => {
    const { remote, server, call } = await openMcpClientFixture(t, [echo])
    const place = server(addressOf(remote, type))
    const say = (session: string) => call(place, 'echo', { session, input: { words: session } })
    const answers = await Promise.all(['ada', 'bob', 'cyd'].map(say))
    assert.deepEqual(
      answers.map(({ output }) => output),
      ['ada', 'bob', 'cyd'],
    )
    await say('ada')
    const sessions = new Map(remote.calls.slice(0, 3).map(({ input, sessionId }) => [input.words, sessionId]))
    assert.equal(new Set(sessions.values()).size, 3)
    assert.equal(remote.calls[3]!.sessionId, sessions.get('ada'))
  })

  test(`${type}: parallel calls of one conversation do not share a session`, async (t) => {
    const one = held('first')
    const other = held('second')
    const { remote, server, call } = await openMcpClientFixture(t, [one.tool, other.tool])
    const place = server(addressOf(remote, type))
    const answers = [call(place, 'first', { session: 'ada' }), call(place, 'second', { session: 'ada' })]
    await Promise.all([one.called, other.called])
    other.answer(text('second'))
    one.answer(text('first'))
    assert.deepEqual(
      (await Promise.all(answers)).map(({ output }) => output),
      ['first', 'second'],
    )
    assert.equal(new Set(remote.calls.map(({ sessionId }) => sessionId)).size, 2)
  })

  test(`${type}: after a restart of the server the next call reconnects and runs once`, async (t) => {
    const { remote, server, call } = await openMcpClientFixture(t, [pay])
    const place = server(addressOf(remote, type))
    assert.equal((await call(place, 'pay', { session: 'ada' })).output, 'paid')
    remote.forgetSessions()
    assert.deepEqual(await call(place, 'pay', { session: 'ada' }), { status: 'success', output: 'paid' })
    assert.equal(remote.calls.length, 2)
  })

  test(`${type}: the token is sent to its server only, not to a host it redirects to`, async (t) => {
    const stolen: unknown[] = []
    const thief = createServer((request, response) => {
      stolen.push(request.headers.authorization)
      response.end()
    })
    await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve))
    t.after(() => thief.close())
    const elsewhere = `http://localhost:${(thief.address() as AddressInfo).port}/mcp`
    const { mcp, remote, server } = await openMcpClientFixture(t, [echo])
    const place = server(addressOf(remote, type), { token: 'tok-secret-1234', headers: { 'x-team': 'blue-team' } })
    assert.equal((await mcp.list(place)).type, 'listed')
    for (const { headers } of remote.requests) {
      assert.equal(headers.authorization, 'Bearer tok-secret-1234')
      assert.equal(headers['x-team'], 'blue-team')
    }
    remote.intercept((_, response) => {
      response.writeHead(307, { location: elsewhere }).end()
      return true
    })
    assert.equal((await mcp.list(place)).type, 'failed')
    assert.deepEqual(stolen, [])
  })
}

test('a stream that ends without an answer is a lost call, and is not waited for', async (t) => {
  const { remote, server, call } = await openMcpClientFixture(t, [pay])
  const place = server()
  await call(place, 'pay', { session: 'ada' })
  remote.intercept((request, response) => {
    if (request.method !== 'POST') return false
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n')
    return true
  })
  assert.equal((await call(place, 'pay', { session: 'ada' })).status, 'unknown')
})

test('a lost call on a reused connection is retried if it may happen twice, and not otherwise', async (t) => {
  const { remote, server, call } = await openMcpClientFixture(t, [echo, pay])
  const place = server()
  const breakOnce = () => {
    let isBroken = false
    remote.intercept((request, response) => {
      if (isBroken || request.method !== 'POST') return false
      isBroken = true
      response.destroy()
      return true
    })
  }
  await call(place, 'echo', { session: 'ada', input: { words: 'hi' } })
  breakOnce()
  const again = await call(place, 'echo', { session: 'ada', input: { words: 'hi' }, effects: 'none' })
  assert.deepEqual(again, { status: 'success', output: 'hi' })
  breakOnce()
  assert.equal((await call(place, 'pay', { session: 'ada' })).status, 'unknown')
  assert.equal(remote.calls.filter(({ tool }) => tool === 'pay').length, 0)
})

test('an unreachable server gives an error that says nothing happened', async (t) => {
  const { mcp, remote, server, call } = await openMcpClientFixture(t, [echo])
  const place = server()
  await remote.close()
  const answer = await call(place, 'echo')
  assert.equal(answer.status, 'error')
  assert.match(answer.output, /ECONNREFUSED.*Nothing happened/)
  const listing = await mcp.list(place)
  assert.deepEqual([listing.type, listing.type === 'failed' && listing.kind], ['failed', 'unreachable'])
})

test('a server that never answers times out', async (t) => {
  const { mcp, remote, server, call } = await openMcpClientFixture(t, [echo], { connectMs: 100, listMs: 100 })
  remote.intercept(() => true)
  const listing = await mcp.list(server())
  assert.deepEqual([listing.type, listing.type === 'failed' && listing.kind], ['failed', 'timeout'])
  assert.match((await call(server(), 'echo')).output, /did not answer within 100 ms.*Nothing happened/)
})

test('a malicious list of tools is refused', async (t) => {
  const deep = JSON.parse(`${'{"type":"object","properties":{"x":'.repeat(200)}{"type":"object"}${'}}'.repeat(200)}`)
  const { mcp, server } = await openMcpClientFixture(t, [{ ...echo, inputSchema: deep }])
  const listing = await mcp.list(server())
  assert.equal(listing.type === 'failed' && listing.kind, 'unusable')
  assert.match(JSON.stringify(listing), /has more than 64 levels/)
})

test('a call that times out says so', async (t) => {
  const { tool, called } = held()
  const { server, call } = await openMcpClientFixture(t, [tool])
  const stop = new AbortController()
  const answer = call(server(), 'hold', { signal: stop.signal })
  await called
  stop.abort('timeout')
  const { status, output } = await answer
  assert.equal(status, 'unknown')
  assert.match(output, /did not answer in time/)
})

test('a token that a server echoes is redacted', async (t) => {
  const { mcp, remote, server } = await openMcpClientFixture(t, [echo])
  remote.intercept((request, response) => {
    response.writeHead(401).end(`bad token: ${request.headers.authorization}`)
    return true
  })
  const listing = await mcp.list(server(undefined, { token: 'tok-secret-1234' }))
  assert.equal(listing.type === 'failed' && listing.kind, 'unauthorized')
  assert.match(JSON.stringify(listing), /bad token/)
  assert.doesNotMatch(JSON.stringify(listing), /tok-secret-1234/)
})

test('tool errors, protocol errors and every kind of result are reported as such', async (t) => {
  const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' }
  const { server, call } = await openMcpClientFixture(t, [
    { name: 'broken', run: () => ({ isError: true, ...text('out of paper') }) },
    { name: 'photo', run: () => ({ content: [{ type: 'text', text: 'look' }, image] }) },
    { name: 'poster', run: () => ({ content: [{ ...image, data: 'a'.repeat(9 * 1024 * 1024) }] }) },
    {
      name: 'moody',
      run() {
        throw new Error('not today')
      },
    },
    { name: 'figures', run: () => ({ content: [], structuredContent: { sum: 3 } }) },
  ])
  const place = server()
  assert.deepEqual(await call(place, 'broken'), { status: 'error', output: 'out of paper' })
  assert.match((await call(place, 'moody')).output, /declined.*not today/)
  assert.match((await call(place, 'absent')).output, /no longer has the tool absent/)
  assert.deepEqual(await call(place, 'figures'), { status: 'success', output: '{"sum":3}' })
  assert.match((await call(place, 'poster')).output, /^\[image, image\/png, \d+ characters, not shown\]$/)
  const photo = await call(place, 'photo')
  assert.deepEqual(photo, {
    status: 'success',
    output: 'look',
    images: [{ type: 'image', source: { mediaType: 'image/png', data: 'aGk=' } }],
  })
})

test('an idle connection is closed after a while, and its session ends at the server', async (t) => {
  const { remote, server, call } = await openMcpClientFixture(t, [echo], { idleMs: 50 })
  await call(server(), 'echo', { session: 'ada' })
  assert.equal(remote.sessions(), 1)
  await until(() => remote.sessions() === 0)
})

test('closing the client ends every session, also of a call that still waits', async (t) => {
  const { tool, called } = held()
  const { mcp, remote, server, call } = await openMcpClientFixture(t, [tool, echo])
  await call(server(), 'echo', { session: 'bob' })
  const waiting = call(server(), 'hold', { session: 'ada' })
  await called
  await mcp.close()
  assert.equal((await waiting).status, 'unknown')
  assert.equal(remote.sessions(), 0)
})

test('a program that cannot be started gives an error that says nothing happened', async (t) => {
  const { server, call } = await openMcpClientFixture(t, [])
  const answer = await call(server({ type: 'stdio', command: 'node', args: [] }), 'any')
  assert.equal(answer.status, 'error')
  assert.match(answer.output, /cannot be used: This test has no programs.*Nothing happened/)
})
