import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { aborted } from '../core/abort.ts'
import type { ResponseChannel } from './exchange.ts'
import { sever } from './listening.ts'
import type { ParsedModelRequest } from './parse-request.ts'
import { resolveReply } from './resolve-reply.ts'
import type { Frame, ResolvedReply, Responder } from './responder.ts'
import type { Break, BreakPosition, Pace, Reply } from './script.ts'
import { spoilFrames } from './spoil-frames.ts'

/** Sends the reply in the format of the protocol, with the pace and the breaks of the script. */
export async function playReply(
  reply: Reply,
  request: ParsedModelRequest,
  { responder, ...channel }: ResponseChannel & { responder: Responder },
): Promise<void> {
  const resolved = resolveReply(reply, request, channel.number)
  const breaks = listOf(reply.breaks)
  const writes = request.streams
    ? streamWrites(responder, resolved, { request, breaks })
    : [JSON.stringify(responder.whole(resolved))]
  const { response, signal } = channel
  await pause(reply.pace?.beforeHeadersMs, signal)
  response.writeHead(200, { 'content-type': contentType(request), ...requestIds(channel.number) })
  response.flushHeaders()
  await playPings(breaks, responder, channel)
  await pause(reply.pace?.beforeFirstChunkMs, signal)
  await playWrites(writes, { ...channel, pace: reply.pace ?? {}, breakAt: breaks.find(isPlaced) })
}

const contentType = ({ streams, asArray }: ParsedModelRequest): string =>
  streams && !asArray ? 'text/event-stream; charset=utf-8' : 'application/json'

function streamWrites(
  responder: Responder,
  resolved: ResolvedReply,
  { request, breaks }: { request: ParsedModelRequest; breaks: Break[] },
): string[] {
  const frames = spoilFrames(responder.frames(resolved), breaks, {
    responder,
    reply: resolved,
    protocol: request.protocol,
  })
  return request.asArray ? asArray(frames) : frames.map((frame) => onWire(frame, responder.newline))
}

const onWire = ({ event, data }: Frame, newline: string): string =>
  `${event === undefined ? '' : `event: ${event}${newline}`}data: ${data}${newline}${newline}`

/** The stream of Gemini for requests without `alt=sse`. */
const asArray = (frames: Frame[]): string[] => [
  ...frames.map(({ data }, at) => `${at === 0 ? '[' : ',\r\n'}${data}`),
  ']',
]

async function playPings(breaks: Break[], responder: Responder, { response, signal }: ResponseChannel): Promise<void> {
  const pings = breaks.find((one) => one.how === 'pings')
  if (!pings) return
  for (let sent = 0; sent < (pings.count ?? Number.POSITIVE_INFINITY); sent++) {
    await write(response, responder.ping)
    await pause(pings.everyMs, signal)
  }
}

type PlacedBreak = Extract<Break, BreakPosition & { how: 'reset' | 'cut' | 'end' | 'stall' }>
const isPlaced = (one: Break): one is PlacedBreak => ['reset', 'cut', 'end', 'stall'].includes(one.how)

type PlayWritesOptions = ResponseChannel & { pace: Pace; breakAt: PlacedBreak | undefined }

async function playWrites(chunks: string[], { response, signal, pace, breakAt }: PlayWritesOptions): Promise<void> {
  const bytes = breakAt ? upTo(breakAt, chunks) : chunks.map((chunk) => Buffer.from(chunk))
  const writes = pace.bytesPerWrite ? slices(Buffer.concat(bytes), pace.bytesPerWrite) : bytes
  for (const [at, piece] of writes.entries()) {
    if (at > 0) await pause(pace.everyMs, signal)
    await write(response, piece)
  }
  if (breakAt) await breakOff(breakAt.how, response, signal)
  else response.end()
}

/** The data sent before the break: without a position, everything but the last chunk. */
function upTo({ atByte, afterChunks }: BreakPosition, chunks: string[]): Buffer[] {
  if (atByte !== undefined)
    return [Buffer.from(chunks.join('')).subarray(0, atByte)].filter((piece) => piece.length > 0)
  return chunks.slice(0, afterChunks ?? chunks.length - 1).map((chunk) => Buffer.from(chunk))
}

/** Ends the response abnormally. */
async function breakOff(how: PlacedBreak['how'], response: ServerResponse, signal: AbortSignal): Promise<void> {
  switch (how) {
    case 'reset':
    case 'cut':
      sever(response.req.socket, how)
      return
    case 'end':
      response.end()
      return
    case 'stall':
      return aborted(signal)
  }
}

export async function pause(milliseconds: number | undefined, signal: AbortSignal): Promise<void> {
  if (milliseconds === undefined || milliseconds <= 0) signal.throwIfAborted()
  else await wait(milliseconds, undefined, { signal })
}

/** Resolves when the kernel has the data, so that a following reset arrives after it. */
const write = (response: ServerResponse, piece: string | Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    response.write(piece, (fault) => (fault ? reject(fault) : resolve()))
  })

function slices(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  return pieces
}

const listOf = <T>(one: T | T[] | undefined): T[] => (one === undefined ? [] : Array.isArray(one) ? one : [one])

/** OpenAI and Anthropic name the header differently. */
export const requestIds = (number: number) => ({
  'x-request-id': `req_simulator_${number}`,
  'request-id': `req_simulator_${number}`,
})
