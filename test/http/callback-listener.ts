import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Letta } from '@letta-ai/letta-client'
import type { WireValue } from './send-modes.ts'

export type WebhookCall = { method: string; path: string; headers: IncomingHttpHeaders; body: WireValue; text: string }

export type WebhookListener = {
  url: string
  calls: WebhookCall[]
  /** Resolves after this number of calls. */
  called(times: number): Promise<void>
  close(): Promise<void>
}

/** A server that receives webhook calls; `answer` gets the number of the call, from 1. */
export async function listenForCallbacks(
  answer: (response: ServerResponse, count: number) => void = (response) => void response.end('{}'),
): Promise<WebhookListener> {
  const calls: WebhookCall[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const { method = '', url = '', headers } = request
    calls.push({ method, path: url, headers, body: text === '' ? undefined : JSON.parse(text), text })
    answer(response, calls.length)
    server.emit('called')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async called(times) {
      while (calls.length < times) await once(server, 'called')
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Waits until the callback fields of a run match, and returns the run. */
export async function waitForCallback(
  client: Letta,
  runId: string,
  isSo: (run: WireValue) => boolean,
): Promise<WireValue> {
  for (;;) {
    const run: WireValue = await client.runs.retrieve(runId)
    if (isSo(run)) return run
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const isSent = (run: WireValue): boolean => run.callback_sent_at !== null
export const hasFailed = (run: WireValue): boolean => run.callback_error !== null
