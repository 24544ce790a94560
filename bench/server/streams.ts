import { createParser } from 'eventsource-parser'
import { Agent, request } from 'undici'

/** The delay of each chunk of a stream in milliseconds, from the model's write to our read. */
export async function chunkDelays(
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body: object },
) {
  const delays: number[] = []
  const { statusCode, body: stream } = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${await stream.text()}`)
  const parser = createParser({
    onEvent: ({ data }) => {
      const now = process.hrtime.bigint()
      // One event may contain several chunks of the model; each has waited until now.
      for (const [, written] of data.matchAll(/@(\d+)/g)) delays.push(Number(now - BigInt(written!)) / 1e6)
    },
  })
  const decoder = new TextDecoder()
  for await (const bytes of stream) parser.feed(decoder.decode(bytes as Buffer, { stream: true }))
  return delays
}

/** Requests per second over `CONNECTIONS` connections. */
export async function readsPerSecond(url: string, headers: Record<string, string>, seconds: number): Promise<number> {
  const dispatcher = new Agent({ connections: CONNECTIONS })
  const until = performance.now() + seconds * 1_000
  let count = 0
  const lane = async () => {
    while (performance.now() < until) {
      const { statusCode, body } = await request(url, { headers, dispatcher })
      await body.dump()
      if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
      count++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  await dispatcher.close()
  return count / seconds
}

const CONNECTIONS = 32

/** Opens `count` streams; the returned function closes them. */
export async function openWatchers(
  url: string,
  { headers, count }: { headers: Record<string, string>; count: number },
) {
  const dispatcher = new Agent({ connections: count, bodyTimeout: 0 })
  const opened: { destroy(): void }[] = []
  for (let from = 0; from < count; from += BATCH)
    await Promise.all(
      Array.from({ length: Math.min(BATCH, count - from) }, async () => {
        const { statusCode, body } = await request(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          dispatcher,
          body: '{}',
        })
        if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
        body.on('error', () => {})
        opened.push(body)
      }),
    )
  return async () => {
    for (const body of opened) body.destroy()
    await dispatcher.destroy()
  }
}

const BATCH = 100
