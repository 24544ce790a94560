import { connect } from 'node:net'
import { made, type TenantClient, tenantClient } from './tenant.ts'

/** What a hostile tenant does; each attack runs until the end of the scenario. */
const ATTACKS: Record<string, (clients: TenantClient[], isOver: () => boolean) => Promise<void>> = {
  floods,
  'slow readers': slowReaders,
  schemas,
  commands,
  workspaces,
  queue,
}

/** The first parameter of the process, as JSON. */
export type Orders = { url: string; keys: string[]; only?: string }

if (process.send && process.argv[2]) {
  const { url, keys, only } = JSON.parse(process.argv[2]) as Orders
  let isOver = false
  process.once('message', () => {
    isOver = true
    setTimeout(() => process.exit(0), 500)
  })
  const clients = keys.map((key) => tenantClient(url, key))
  const counts: Record<string, number> = {}
  for (const [name, attack] of Object.entries(ATTACKS)) {
    if (only !== undefined && !only.split(',').includes(name)) continue
    const counted = clients.map((client) => ({
      ...client,
      request: async (...request: Parameters<TenantClient['request']>) => {
        counts[name] = (counts[name] ?? 0) + 1
        return client.request(...request)
      },
    }))
    void attack(counted, () => isOver).catch(() => undefined)
  }
  setInterval(() => process.send?.(counts), 500).unref()
}

/** Forty requests at a time, over all keys. */
async function floods(clients: TenantClient[], isOver: () => boolean): Promise<void> {
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const client = clients[index % clients.length]!
      while (!isOver()) await client.request('GET', '/v1/agents').catch(() => undefined)
    }),
  )
}

/** Lists of large passages that are asked for and not read. */
async function slowReaders([client]: TenantClient[], isOver: () => boolean): Promise<void> {
  const agent = await newAgent(client!)
  const text = 'word '.repeat(200_000)
  for (let count = 0; count < 12; count++)
    await client!.request('POST', `/v1/agents/${agent}/archival-memory`, { text }).catch(() => undefined)
  const { hostname, port } = new URL(client!.url)
  while (!isOver()) {
    for (let count = 0; count < 10; count++) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => socket.destroy())
      socket.pause()
      socket.write(
        `GET /v1/agents/${agent}/archival-memory?limit=40 HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${client!.key}\r\n\r\n`,
      )
    }
    await pause(1_000)
  }
}

/** Schemas that a naive validator never finishes. */
async function schemas([client]: TenantClient[], isOver: () => boolean): Promise<void> {
  const agent = await newAgent(client!)
  const parameters = { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } }
  const source_code = 'def evil(x: str) -> str:\n    """d"""\n    return x\n'
  const { body } = await client!.request('POST', '/v1/tools', {
    source_code,
    json_schema: { name: 'evil', parameters },
  })
  const { id } = body as { id?: string }
  if (id) await client!.request('PATCH', `/v1/agents/${agent}/tools/attach/${id}`, {})
  while (!isOver()) {
    const args = { x: `${'a'.repeat(40)}!` }
    await client!.request('POST', `/v1/agents/${agent}/tools/evil/run`, { args }).catch(() => undefined)
    await client!
      .request('POST', '/v1/tools', { source_type: 'typescript', source_code: `${'\n'.repeat(80_000)}x` })
      .catch(() => undefined)
  }
}

/** Shell commands that a naive guard never finishes reading. */
async function commands([client]: TenantClient[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const agent = await newAgent(client!)
    const input = `run ${'find -exec '.repeat(40)}`
    await client!.request('POST', `/v1/agents/${agent}/messages/async`, { input }).catch(() => undefined)
    await pause(200)
  }
}

/** As many workspaces as it can have, each with a busy command. */
async function workspaces(clients: TenantClient[], isOver: () => boolean): Promise<void> {
  const client = clients.at(-1)!
  while (!isOver()) {
    const agent = await newAgent(client)
    const args = { command: 'for i in $(seq 50); do head -c 2000000 /dev/urandom > f$i; done' }
    void client.request('POST', `/v1/agents/${agent}/tools/shell/run`, { args }).catch(() => undefined)
    await pause(250)
  }
}

/** Slow turns over all keys, until the queue is full. */
async function queue(clients: TenantClient[], isOver: () => boolean): Promise<void> {
  for (let count = 0; !isOver(); count++) {
    const client = clients[count % clients.length]!
    const agent = await newAgent(client).catch(() => undefined)
    if (!agent) continue
    const { status } = await client.request('POST', `/v1/agents/${agent}/messages/async`, { input: 'count to 600' })
    if (status === 429) await pause(500)
  }
}

async function newAgent(client: TenantClient): Promise<string> {
  const body = { name: 'hostile', model: 'scripted/friendly', tools: ['shell', 'slow_count'] }
  for (;;) {
    const answer = await client.request('POST', '/v1/agents', body)
    if (answer.status === 200) return (await made(Promise.resolve(answer))).id
    await pause(200)
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
