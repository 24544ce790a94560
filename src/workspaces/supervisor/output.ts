import { closeSync, readSync, writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { OutputRange, ProcessOutput } from '../../ports/workspaces.ts'
import { openToAppend, openToRead } from './plain-files.ts'

/** Output kept on disk per command. The rest is counted and dropped. */
export const SPOOL_BYTES = 64 * 1024 * 1024
/** Of one answer, in bytes. */
const MAX_RANGE = 4 * 1024 * 1024

export type OutputCollector = { written: number; dropped: number; ended: Promise<void>; stop(): void }

/** Reads a command's output as fast as it comes, so that the command never blocks on a full pipe. */
export function collectOutput(source: Socket, file: string, bound = SPOOL_BYTES): OutputCollector {
  let spool: number | undefined = openToAppend(file)
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const collector: OutputCollector = { written: 0, dropped: 0, ended, stop: () => void source.destroy() }
  source.on('data', (chunk: Buffer) => {
    const kept = spool === undefined ? 0 : appendChunk(spool, chunk.subarray(0, Math.max(0, bound - collector.written)))
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

/** On a full disk the output is dropped, without blocking the command or crashing. */
function appendChunk(spool: number, chunk: Buffer): number {
  try {
    return chunk.length > 0 ? writeSync(spool, chunk) : 0
  } catch {
    return 0
  }
}

/** A range of the spool as text without partial characters; a character cut at the end is left to the next read. */
export function readOutput(file: string, range: OutputRange, size: { total: number; dropped: number }): ProcessOutput {
  const { total, dropped } = size
  const start = 'last' in range ? Math.max(0, total - range.last) : Math.min(Math.max(0, range.from), total)
  const length = Math.min('last' in range ? range.last : range.limit, total - start, MAX_RANGE)
  const bytes = readBytes(file, start, Math.max(0, length))
  const from = start > 0 ? firstCharacterStart(bytes) : 0
  const to = start + bytes.length < total ? lastCharacterEnd(bytes, from) : bytes.length
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

/** The offset of the first complete character. */
function firstCharacterStart(bytes: Buffer): number {
  let at = 0
  while (at < 3 && isContinuation(bytes[at])) at++
  return at
}

/**
 * The offset of an incomplete character at the end; the end if there is none, or if nothing would be left before it.
 */
function lastCharacterEnd(bytes: Buffer, from: number): number {
  for (let back = 1; back <= 3 && bytes.length - back > from; back++) {
    const byte = bytes[bytes.length - back]!
    if (isContinuation(byte)) continue
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needs > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
