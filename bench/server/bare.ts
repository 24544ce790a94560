import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { createParser } from 'eventsource-parser'
import { fastify } from 'fastify'
import { request } from 'undici'

/**
 * The baselines: `relay` forwards a model's text as it arrives, `fastify` reads a row of the same file by its id and
 * sends it unchanged. Prints its address and serves.
 */
const [, , kind, argument] = process.argv
if (kind === 'relay') await relay(argument!)
else await answer(argument!)

async function relay(model: string): Promise<void> {
  const server = createServer(async (incoming, response) => {
    const received: Buffer[] = []
    for await (const bytes of incoming) received.push(bytes as Buffer)
    const { body } = await request(`${model}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat(received),
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const parser = createParser({
      onEvent: ({ data }) => {
        if (data === '[DONE]') return
        const { content } = (JSON.parse(data) as { choices: { delta: { content?: string } }[] }).choices[0]!.delta
        if (content) response.write(`data: ${JSON.stringify({ message_type: 'assistant_message', content })}\n\n`)
      },
    })
    const decoder = new TextDecoder()
    for await (const bytes of body) parser.feed(decoder.decode(bytes as Buffer, { stream: true }))
    response.end('data: [DONE]\n\n')
  })
  server.listen(0, '127.0.0.1', () => printAddress((server.address() as AddressInfo).port))
}

async function answer(file: string): Promise<void> {
  const database = new DatabaseSync(file, { readOnly: true })
  const server = fastify()
  for (const table of ['runs', 'blocks']) {
    const row = database.prepare(`select * from ${table} where id = ?`)
    server.get(`/v1/${table}/:id`, async ({ params }) => row.get((params as { id: string }).id))
  }
  await server.listen({ host: '127.0.0.1', port: 0 })
  printAddress((server.server.address() as AddressInfo).port)
}

function printAddress(port: number): void {
  process.stdout.write(`http://127.0.0.1:${port}\n`)
}
