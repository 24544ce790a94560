import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type ServedAgent, serveFor } from './fixture-server-process.ts'

const MEGABYTE = 1_048_576
const MOST_RESIDENT = 600 * MEGABYTE
const HEALTHY_MS = 100
/** How much slower than without an attack the median may be: the attacker pours its bytes from the same machine. */
const RATIO = 100

const residentOf = (pid: number, field: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024

const percentile = (values: number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)]!

/** Runs in a thread of its own: the attacker must not slow the measurement down. */
const MEASURE = `
  const { parentPort, workerData } = require('node:worker_threads')
  const latencies = []
  let isOver = false
  parentPort.once('message', () => { isOver = true })
  const measure = async () => {
    while (!isOver) {
      const start = performance.now()
      const { status } = await fetch(workerData)
      latencies.push(status === 200 ? performance.now() - start : Infinity)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    parentPort.postMessage(latencies)
  }
  measure()
`

/** The latencies of the health route while the work runs. */
async function healthDuring(server: ServedAgent, work: () => Promise<unknown>): Promise<number[]> {
  const worker = new Worker(MEASURE, { eval: true, workerData: `${server.url()}/v1/health` })
  try {
    await pause(500)
    await work()
    worker.postMessage('stop')
    const [latencies] = await once(worker, 'message')
    // The first request opens the connection.
    return (latencies as number[]).slice(1)
  } finally {
    await worker.terminate()
  }
}

type Attack = {
  server: ServedAgent
  key: string
  agentKey: string
  open(bytes: string, options?: { read: boolean }): Socket
}

const headOf = (line: string, key: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'host: 127.0.0.1', `authorization: Bearer ${key}`, ...headers].join('\r\n')}\r\n\r\n`

/** Sends the bytes again and again until the server has answered or closed the connection, or the time is over. */
async function pour(socket: Socket, { piece, times }: { piece: Buffer; times: number }): Promise<void> {
  let isAnswered = false
  socket.once('data', () => {
    isAnswered = true
  })
  const signal = AbortSignal.timeout(20_000)
  socket.setMaxListeners(0)
  for (let count = 0; count < times && !isAnswered && !socket.destroyed; count++) {
    if (socket.write(piece)) continue
    await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })]).catch(() => {})
    if (signal.aborted) return
  }
}

const unreadAnswers =
  (path: string) =>
  async ({ server, key, open }: Attack) => {
    for (let count = 0; count < 25; count++)
      open(headOf(`GET /v1/agents/${server.agentId}/${path}`, key), { read: false })
    await pause(8_000)
  }

const forms = (line: string, which: 'key' | 'agentKey') => async (attack: Attack) => {
  const piece = Buffer.alloc(MEGABYTE, 'x')
  const start = '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
  await Promise.all(
    Array.from({ length: 40 }, () => {
      const headers = ['content-type: multipart/form-data; boundary=x', `content-length: ${63 * MEGABYTE}`]
      return pour(attack.open(headOf(line, attack[which], ...headers) + start), { piece, times: 62 })
    }),
  )
}

const bodies =
  (text: string) =>
  async ({ key, open }: Attack) => {
    const size = 10 * MEGABYTE - 1
    const piece = Buffer.alloc(size, text)
    const headers = ['content-type: application/json', `content-length: ${size}`]
    await Promise.all(
      Array.from({ length: 8 }, () =>
        pour(open(headOf('POST /v1/messages/search', key, ...headers)), { piece, times: 1 }),
      ),
    )
    await pause(3_000)
  }

/** Bodies that never end, on as many connections as a key may have. */
async function unfinishedBodies({ key, open }: Attack): Promise<void> {
  const headers = ['content-type: application/json', `content-length: ${10 * MEGABYTE - 1}`]
  const piece = Buffer.alloc(MEGABYTE, ' ')
  await Promise.all(
    Array.from({ length: 200 }, () =>
      pour(open(headOf('POST /v1/messages/search', key, ...headers)), { piece, times: 9 }),
    ),
  )
}

const ATTACKS: Record<string, (attack: Attack) => Promise<void>> = {
  'lists that are not read': unreadAnswers('archival-memory?limit=40'),
  'exports that are not read': unreadAnswers('export'),
  'forms where no file belongs': forms('POST /v1/messages/search', 'key'),
  'forms where a file belongs': forms('POST /v1/agents/import', 'agentKey'),
  brackets: bodies('['),
  'empty lists': bodies('[],'),
  objects: bodies('{"":'),
  'bodies that do not end': unfinishedBodies,
}

async function prepare(context: TestContext): Promise<Omit<Attack, 'open'> & { pid: number; idle: number[] }> {
  const server = await serveFor(context, { tools: [] })
  const pidNow = () => (JSON.parse(readFileSync(join(server.home, 'server.json'), 'utf8')) as { pid: number }).pid
  const keyOf = async (scope: string) => {
    const answer = await server.fetch('/v1/keys', { method: 'POST', body: JSON.stringify({ name: scope, scope }) })
    return ((await answer.json()) as { key: string }).key
  }
  const [key, agentKey] = [await keyOf('read'), await keyOf('agent')]
  const path = `/v1/agents/${server.agentId}/archival-memory`
  const text = 'x'.repeat(9.5 * MEGABYTE)
  for (let count = 0; count < 70; count++) {
    const answer = await server.fetch(path, { method: 'POST', key: agentKey, body: JSON.stringify({ text }) })
    assert.equal(answer.status, 200)
    await answer.arrayBuffer()
  }
  const filling = residentOf(pidNow(), 'VmHWM')
  context.diagnostic(`filling: peak ${Math.round(filling / MEGABYTE)} MB`)
  assert.ok(filling < MOST_RESIDENT, `${filling / MEGABYTE} MB resident while the passages were written`)
  // What the writes left behind is not counted to the attacks; what a start reads of them is.
  await server.stop()
  await server.start()
  const pid = pidNow()
  return { server, key, agentKey, pid, idle: await healthDuring(server, () => pause(3_000)) }
}

test('no attack with bytes takes the memory of the server or stops it for others', async (context) => {
  const { pid, idle, ...parts } = await prepare(context)
  const report = (name: string, latencies: number[]) => {
    const [p50, p99, most] = [0.5, 0.99, 1].map((share) => percentile(latencies, share).toFixed(0))
    const [now, peak] = (['VmRSS', 'VmHWM'] as const).map((field) => Math.round(residentOf(pid, field) / MEGABYTE))
    context.diagnostic(`${name}: health p50 ${p50} p99 ${p99} max ${most} ms, resident ${now} MB, peak ${peak} MB`)
  }
  report('idle', idle)
  for (const [name, attack] of Object.entries(ATTACKS))
    await context.test(name, async () => {
      const sockets: Socket[] = []
      const open: Attack['open'] = (bytes, { read } = { read: true }) => {
        const socket = connect(Number(new URL(parts.server.url()).port), '127.0.0.1')
        sockets.push(socket)
        socket.on('error', () => {})
        if (!read) socket.pause()
        socket.write(bytes)
        return socket
      }
      // Resets VmHWM: each attack is judged by its own peak.
      writeFileSync(`/proc/${pid}/clear_refs`, '5')
      const latencies = await healthDuring(parts.server, () => attack({ ...parts, open }))
      report(name, latencies)
      for (const socket of sockets) socket.destroy()
      assert.ok(residentOf(pid, 'VmHWM') < MOST_RESIDENT, `${residentOf(pid, 'VmHWM') / MEGABYTE} MB resident`)
      const allowed = Math.max(HEALTHY_MS, RATIO * percentile(idle, 0.5))
      assert.ok(percentile(latencies, 0.5) < allowed, `health answered in ${percentile(latencies, 0.5)} ms`)
      assert.equal((await parts.server.fetch('/v1/agents')).status, 200)
    })
})
