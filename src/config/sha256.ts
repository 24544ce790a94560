import { createHmac, hash } from 'node:crypto'
import type { Digest } from '../ports/digest.ts'

export const sha256: Digest = (text) => hash('sha256', text, 'hex')

/** As base64. */
export const hmacSha256 = (key: Uint8Array, data: string | Uint8Array): string =>
  createHmac('sha256', key).update(data).digest('base64')
