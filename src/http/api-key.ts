import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileSync } from '../disk/atomic-write.ts'
import { readIfPresentSync } from '../disk/read-if-present.ts'

const KEY_BYTES = 32

/** `file` is set if the key is stored in the home; `isNew` if it was just created, so that it may be printed once. */
export type ApiKey = { key: string; file?: string; isNew: boolean }

/** The configured key, or the key stored in the home, which is created on the first start. */
export function apiKeyFor(home: string, configuredKey: string | undefined): ApiKey {
  if (configuredKey) return { key: configuredKey, isNew: false }
  const file = join(home, 'api-key')
  const stored = readIfPresentSync(file)?.trim()
  if (stored) {
    chmodSync(file, 0o600)
    return { key: stored, file, isNew: false }
  }
  const key = `hf-${randomBytes(KEY_BYTES).toString('base64url')}`
  if (createFileSync(file, `${key}\n`)) return { key, file, isNew: true }
  return { key: readFileSync(file, 'utf8').trim(), file, isNew: false }
}

/** Compares digests in constant time, so that timing reveals nothing about the key. */
export function newKeyMatcher(key: string): (token: string) => boolean {
  const expected = Buffer.from(hash('sha256', key, 'hex'))
  // Reused for every comparison: a new buffer for each digest takes three times as long.
  const digest = Buffer.alloc(expected.length)
  return (token) => {
    digest.write(hash('sha256', token, 'hex'), 'latin1')
    return timingSafeEqual(digest, expected)
  }
}

/** The bearer token of a request, if it has one. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]?.trim()

/** Identifies the key of a request without revealing it. */
export const keyDigest = (authorization: string | undefined): string => hash('sha256', authorization ?? '', 'hex')
