import type { Letta } from '@letta-ai/letta-client'
import type { WireValue } from '../../http/send-modes.ts'
import { isEnd, textIn, type Witness, withoutDate } from './http-witness.ts'

export type CheckedServer = { client: Letta; url: string; key: string }

/** Everything a client received over HTTP is still stored, unchanged, and a resume gives exactly the rest. */
export async function checkOverHttp(witness: Witness, server: CheckedServer): Promise<string[]> {
  const { finished, readings, reports, complaints } = witness
  const runIds = new Set(reports.flatMap(({ runId, next }) => [...(runId ? [runId] : []), ...(next ? [next] : [])]))
  const found = [...complaints]
  const finishedOf = Map.groupBy(finished, ({ runId }) => runId)
  const readingsOf = Map.groupBy(readings, ({ runId }) => runId)
  for (const runId of runIds) {
    const kept = await messagesOf(runId, server.client)
    for (const { otid, type, text } of finishedOf.get(runId) ?? [])
      if (kept.get(`${type} ${otid}`) !== text)
        found.push(
          `${runId}: a client received ${type} ${otid} ${text}, and the stored one is ${kept.get(`${type} ${otid}`)}`,
        )
    found.push(...(await checkStream(runId, { server, readings: readingsOf.get(runId) ?? [] })))
  }
  return found
}

async function messagesOf(runId: string, client: Letta): Promise<Map<string, string>> {
  const kept = new Map<string, string>()
  for await (const message of client.runs.messages.list(runId) as AsyncIterable<WireValue>)
    kept.set(`${message.message_type} ${message.otid}`, textIn(message) ?? '')
  return kept
}

type StreamedEvent = { name: string | undefined; data: WireValue }

async function checkStream(
  runId: string,
  { server, readings }: { server: CheckedServer; readings: Witness['readings'] },
): Promise<string[]> {
  const whole = await streamOf(runId, 0, server)
  const numbered = whole.filter(({ data }) => data.seq_id !== undefined && data.message_type !== 'ping')
  const plain = numbered.filter(({ name, data }) => name === undefined && !isEnd(data)).map(({ data }) => data)
  const found: string[] = []
  for (const [index, { data }] of numbered.entries())
    if (index > 0 && data.seq_id <= numbered[index - 1]!.data.seq_id)
      found.push(`${runId}: ${data.seq_id} follows ${numbered[index - 1]!.data.seq_id}`)
  const stops = whole.filter(({ data }) => data.message_type === 'stop_reason').length
  if (stops !== 1) found.push(`${runId}: its stream has ${stops} ends`)

  for (const { events } of readings)
    if (JSON.stringify(events) !== JSON.stringify(plain))
      found.push(`${runId}: a reader received ${JSON.stringify(events)}, and the stream has ${JSON.stringify(plain)}`)

  const middle = numbered[Math.floor(numbered.length / 2)]?.data.seq_id ?? 0
  const rest = (await streamOf(runId, middle, server)).filter(({ data }) => data.message_type !== 'ping')
  const expected = whole.filter(({ data }) => data.message_type !== 'ping' && !(data.seq_id <= middle))
  if (JSON.stringify(rest) !== JSON.stringify(expected))
    found.push(`${runId}: a resume after ${middle} gave ${JSON.stringify(rest)} instead of ${JSON.stringify(expected)}`)
  return found
}

/** The raw events, including named events, which the official client skips. */
async function streamOf(runId: string, after: number, { url, key }: CheckedServer): Promise<StreamedEvent[]> {
  const response = await fetch(`${url}/v1/runs/${runId}/stream`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ starting_after: after }),
    signal: AbortSignal.timeout(20_000),
  })
  if (!response.ok) return [{ name: 'refused', data: { message_type: 'refused', status: response.status } }]
  const text = await response.text()
  if (!text.endsWith('data: [DONE]\n\n')) return [{ name: 'unfinished', data: { message_type: 'unfinished' } }]
  return text
    .split('\n\n')
    .filter((event) => event !== '' && event !== 'data: [DONE]' && !event.startsWith(':'))
    .map((event) => {
      const [, name, data] = /^(?:event: (.*)\n)?data: (.*)$/.exec(event)!
      return { name, data: withoutDate(JSON.parse(data!)) }
    })
}
