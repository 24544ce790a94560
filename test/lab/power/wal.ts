import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** SQLite's write-ahead log: a header, then frames of one page each. https://sqlite.org/fileformat.html#walformat */
export type Wal = {
  bytes: Buffer
  frameSize: number
  frames: number
  /** The last frame of a transaction carries the size of the database; the others zero. */
  isCommit(frame: number): boolean
  /** Where frame k ends; `endOf(0)` is the end of the header. */
  endOf(frame: number): number
}

const HEADER = 32
const FRAME_HEADER = 24

export function readWal(file: string): Wal {
  const bytes = readFileSync(file)
  const frameSize = FRAME_HEADER + bytes.readUInt32BE(8)
  const endOf = (frame: number) => HEADER + frame * frameSize
  return {
    bytes,
    frameSize,
    frames: Math.floor((bytes.length - HEADER) / frameSize),
    isCommit: (frame) => bytes.readUInt32BE(endOf(frame - 1) + 4) > 0,
    endOf,
  }
}

/** Copies the home as a power loss at that moment would leave it, for the length of `work`. */
export async function withCutHome<T>(
  { home, wal }: { home: string; wal: Buffer },
  work: (cut: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cut-'))
  const cut = join(folder, 'home')
  mkdirSync(cut)
  try {
    copyFileSync(join(home, 'holdfast.db'), join(cut, 'holdfast.db'))
    writeFileSync(join(cut, 'holdfast.db-wal'), wal)
    return await work(cut)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
