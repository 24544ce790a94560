import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const KEY_BYTES = 32

/** `file` names where the key is kept, if it is kept; `isNew` that it was made just now and may be shown once. */
export type ApiKey = { key: string; file?: string; isNew: boolean }

/** The key of the environment, or that of the home, which is made on the first start. */
export function apiKeyFor(home: string, given: string | undefined): ApiKey {
  if (given) return { key: given, isNew: false }
  const file = join(home, 'api-key')
  const kept = readIfThere(file)
  if (kept) {
    chmodSync(file, 0o600)
    return { key: kept, file, isNew: false }
  }
  const key = `hf-${randomBytes(KEY_BYTES).toString('base64url')}`
  return keep(file, key) ? { key, file, isNew: true } : { key: readFileSync(file, 'utf8').trim(), file, isNew: false }
}

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw fault
  }
}

/** Whole or not at all; false if another process was first. */
function keep(file: string, key: string): boolean {
  const unfinished = `${file}.${process.pid}`
  const handle = openSync(unfinished, 'w', 0o600)
  try {
    writeSync(handle, `${key}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  try {
    linkSync(unfinished, file)
    return true
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fault
  } finally {
    rmSync(unfinished, { force: true })
  }
}

/** Compares digests, in a time that tells nothing of how much of a guess was right. */
export function keyGuard(key: string): (shown: string) => boolean {
  const expected = Buffer.from(hash('sha256', key, 'hex'))
  // Filled anew for each guess: a digest that comes as a buffer of its own costs three times as much.
  const digest = Buffer.alloc(expected.length)
  return (shown) => {
    digest.write(hash('sha256', shown, 'hex'), 'latin1')
    return timingSafeEqual(digest, expected)
  }
}

/** The key a request shows, if it shows one. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]?.trim()

export const keyDigest = (authorization: string | undefined): string => hash('sha256', authorization ?? '', 'hex')
