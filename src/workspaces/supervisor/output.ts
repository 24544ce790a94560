import { closeSync, readSync, writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { OutputRange, ProcessOutput } from '../../ports/workspaces.ts'
import { openToAppend, openToRead } from './plain-files.ts'

/** On disk, for each command. What comes after it is counted and goes nowhere. */
const SPOOL_BYTES = 64 * 1024 * 1024
/** Of one answer. */
const MAX_RANGE = 4 * 1024 * 1024

export type OutputCollector = { written: number; dropped: number; ended: Promise<void>; stop(): void }

/** Takes what a command says as fast as it says it, so that it is never blocked by us. */
export function collectOutput(source: Socket, file: string, bound = SPOOL_BYTES): OutputCollector {
  let spool: number | undefined = openToAppend(file)
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const collector: OutputCollector = { written: 0, dropped: 0, ended, stop: () => void source.destroy() }
  source.on('data', (chunk: Buffer) => {
    const kept = spool === undefined ? 0 : keep(spool, chunk.subarray(0, Math.max(0, bound - collector.written)))
    collector.written += kept
    collector.dropped += chunk.length - kept
  })
  source.on('error', () => source.destroy())
  source.on('close', () => {
    if (spool !== undefined) closeSync(spool)
    spool = undefined
    resolve()
  })
  return collector
}

/** A full disk is no reason to block or to fall. */
function keep(spool: number, chunk: Buffer): number {
  try {
    return chunk.length > 0 ? writeSync(spool, chunk) : 0
  } catch {
    return 0
  }
}

/** Bytes of the spool as text that is valid at both edges; a character that is cut belongs to the next read. */
export function readOutput(file: string, range: OutputRange, size: { total: number; dropped: number }): ProcessOutput {
  const { total, dropped } = size
  const start = 'last' in range ? Math.max(0, total - range.last) : Math.min(Math.max(0, range.from), total)
  const length = Math.min('last' in range ? range.last : range.limit, total - start, MAX_RANGE)
  const bytes = readBytes(file, start, Math.max(0, length))
  const from = start > 0 ? firstWhole(bytes) : 0
  const to = start + bytes.length < total ? lastWhole(bytes, from) : bytes.length
  return { text: bytes.subarray(from, to).toString('utf8'), from: start + from, next: start + to, total, dropped }
}

function readBytes(file: string, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let descriptor: number
  try {
    descriptor = openToRead(file)
  } catch {
    return bytes.subarray(0, 0)
  }
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position))
  } finally {
    closeSync(descriptor)
  }
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/** Where the first character that is not cut begins. */
function firstWhole(bytes: Buffer): number {
  let at = 0
  while (at < 3 && isContinuation(bytes[at])) at++
  return at
}

/** Where a character at the end that is cut begins; the end where none is, or where going back would leave nothing. */
function lastWhole(bytes: Buffer, from: number): number {
  for (let back = 1; back <= 3 && bytes.length - back > from; back++) {
    const byte = bytes[bytes.length - back]!
    if (isContinuation(byte)) continue
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needs > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
