import { connect } from 'node:net'
import type { Simulator } from '../../src/simulator/start-simulator.ts'

export type RawAnswer = {
  /** How the connection ended: with a TCP reset, or closed normally. */
  end: 'reset' | 'closed'
  headers: string
  /** The body after chunked decoding. */
  body: Buffer
  /** Whether the body is complete according to its transfer encoding. */
  isWhole: boolean
}

/** Sends a request over a plain socket, to see exactly the bytes on the wire. */
export function askRaw({ port }: Simulator, body: unknown, path = '/v1/chat/completions'): Promise<RawAnswer> {
  const text = JSON.stringify(body)
  const head = `POST ${path} HTTP/1.1\r\nhost: simulator\r\ncontent-type: application/json\r\nconnection: close\r\n`
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
    })
    const received: Buffer[] = []
    let end: RawAnswer['end'] = 'closed'
    socket.on('data', (bytes) => received.push(bytes))
    socket.on('error', () => {
      end = 'reset'
    })
    socket.on('close', () => resolve({ end, ...readAnswer(Buffer.concat(received)) }))
  })
}

function readAnswer(bytes: Buffer): Omit<RawAnswer, 'end'> {
  const split = bytes.indexOf('\r\n\r\n')
  if (split < 0) return { headers: bytes.toString(), body: Buffer.alloc(0), isWhole: false }
  const headers = bytes.subarray(0, split).toString().toLowerCase()
  const rest = bytes.subarray(split + 4)
  if (headers.includes('transfer-encoding: chunked')) return { headers, ...dechunked(rest) }
  const length = Number(/content-length: (\d+)/.exec(headers)?.[1])
  return { headers, body: rest, isWhole: rest.length === length }
}

function dechunked(bytes: Buffer): { body: Buffer; isWhole: boolean } {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return { body: Buffer.concat(pieces), isWhole: false }
    const size = Number.parseInt(bytes.subarray(at, line).toString(), 16)
    if (size === 0) return { body: Buffer.concat(pieces), isWhole: true }
    pieces.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}
