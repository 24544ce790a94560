import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileSync } from '../disk/atomic-write.ts'
import { readIfPresentSync } from '../disk/read-if-present.ts'

const KEY_BYTES = 32

/** `file` names where the key is kept, if it is kept; `isNew` that it was made just now and may be shown once. */
export type ApiKey = { key: string; file?: string; isNew: boolean }

/** The key of the environment, or that of the home, which is made on the first start. */
export function apiKeyFor(home: string, configuredKey: string | undefined): ApiKey {
  if (configuredKey) return { key: configuredKey, isNew: false }
  const file = join(home, 'api-key')
  const kept = readIfPresentSync(file)?.trim()
  if (kept) {
    chmodSync(file, 0o600)
    return { key: kept, file, isNew: false }
  }
  const key = `hf-${randomBytes(KEY_BYTES).toString('base64url')}`
  if (createFileSync(file, `${key}\n`)) return { key, file, isNew: true }
  return { key: readFileSync(file, 'utf8').trim(), file, isNew: false }
}

/** Compares digests, in a time that tells nothing of how much of a guess was right. */
export function newKeyMatcher(key: string): (shown: string) => boolean {
  const expected = Buffer.from(hash('sha256', key, 'hex'))
  // Filled anew for each guess: a digest that comes as a buffer of its own costs three times as much.
  const digest = Buffer.alloc(expected.length)
  return (shown) => {
    digest.write(hash('sha256', shown, 'hex'), 'latin1')
    return timingSafeEqual(digest, expected)
  }
}

/** The key a request shows, if it shows one. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]?.trim()

export const keyDigest = (authorization: string | undefined): string => hash('sha256', authorization ?? '', 'hex')
