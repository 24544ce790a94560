import type { Hook, HookScheme } from './hook.ts'
import type { Json } from './json.ts'
import { webhookKeyBytes } from './webhook-secret.ts'

export type HookRequest = {
  headers: Record<string, string>
  /** As it arrived: the signature covers these bytes. */
  bytes: Buffer
  /** What the bytes say; undefined if they are no JSON. */
  body: Json | undefined
}

/** `key` is signed: it identifies the delivery even if headers that no signature covers are forged. */
type ReadSignature =
  | { type: 'read'; signatures: string[]; covers: Buffer; keyBytes(secret: string): Buffer; sentAt?: number; id: Named }
  | { type: 'fault'; reason: string }

type Named = { deliveryId: string; key: string; event: string }

type Tools = { hmac(key: Uint8Array, data: Uint8Array): string; digest(text: string): string }

export type Verified = ({ type: 'valid' } & Named) | { type: 'invalid'; reason: string }

/** Standard Webhooks and Stripe recommend five minutes. */
const REPLAY_WINDOW_MS = 5 * 60_000

type Reader = (request: HookRequest, hook: Pick<Hook, 'signatureHeader'>, tools: Tools) => ReadSignature

const READERS: Record<HookScheme, Reader> = { standard, github, stripe, hmac: plainHmac }

/** Whether the request was signed with one of these secrets, within the replay window. */
export function verifyHook(
  request: HookRequest,
  hook: Pick<Hook, 'scheme' | 'signatureHeader'>,
  { secrets, now, ...tools }: Tools & { secrets: readonly string[]; now: number },
): Verified {
  const read = READERS[hook.scheme](request, hook, tools)
  if (read.type === 'fault') return { type: 'invalid', reason: read.reason }
  const expected = secrets
    .filter((secret) => secret !== '')
    .map((secret) => Buffer.from(tools.hmac(read.keyBytes(secret), read.covers), 'base64'))
  const isSigned = read.signatures.some((given) =>
    expected.some((one) => isSame(given, one.toString('base64')) || isSame(given, one.toString('hex'))),
  )
  if (!isSigned) return { type: 'invalid', reason: 'The signature is wrong.' }
  if (read.sentAt !== undefined && !(Math.abs(now - read.sentAt) <= REPLAY_WINDOW_MS))
    return { type: 'invalid', reason: 'The timestamp is more than five minutes away from the time of this server.' }
  return { type: 'valid', ...read.id }
}

const utf8 = (secret: string): Buffer => Buffer.from(secret, 'utf8')
const missing = (header: string): ReadSignature => ({ type: 'fault', reason: `The header ${header} is missing.` })

function standard({ headers, bytes, body }: HookRequest): ReadSignature {
  const id = headers['webhook-id'] ?? headers['svix-id']
  const timestamp = headers['webhook-timestamp'] ?? headers['svix-timestamp']
  const signature = headers['webhook-signature'] ?? headers['svix-signature']
  if (!id) return missing('webhook-id')
  if (!timestamp) return missing('webhook-timestamp')
  if (!signature) return missing('webhook-signature')
  return {
    type: 'read',
    signatures: signature.split(' ').flatMap((one) => (one.startsWith('v1,') ? [one.slice(3)] : [])),
    covers: Buffer.concat([utf8(`${id}.${timestamp}.`), bytes]),
    keyBytes: (secret) => (secret.startsWith('whsec_') ? webhookKeyBytes(secret) : utf8(secret)),
    sentAt: secondsOf(timestamp),
    id: { deliveryId: id, key: id, event: textField(body, 'type') },
  }
}

/** GitHub signs the body alone: its delivery id is not covered, so the body identifies the delivery. */
function github({ headers, bytes }: HookRequest, _: unknown, { digest }: Tools): ReadSignature {
  const signature = headers['x-hub-signature-256']
  if (!signature?.startsWith('sha256=')) return missing('x-hub-signature-256')
  const key = digest(bytes.toString('base64'))
  return {
    type: 'read',
    signatures: [signature.slice('sha256='.length).toLowerCase()],
    covers: bytes,
    keyBytes: utf8,
    id: { deliveryId: headers['x-github-delivery'] ?? key, key, event: headers['x-github-event'] ?? '' },
  }
}

function stripe({ headers, bytes, body }: HookRequest, _: unknown, { digest }: Tools): ReadSignature {
  const signature = headers['stripe-signature']
  if (!signature) return missing('stripe-signature')
  const pairs = signature.split(',').map((pair) => pair.trim().split('=') as [string, string?])
  const timestamp = pairs.find(([name]) => name === 't')?.[1] ?? ''
  const key = textField(body, 'id') || digest(bytes.toString('base64'))
  return {
    type: 'read',
    signatures: pairs.flatMap(([name, value]) => (name === 'v1' && value ? [value.toLowerCase()] : [])),
    covers: Buffer.concat([utf8(`${timestamp}.`), bytes]),
    keyBytes: utf8,
    sentAt: secondsOf(timestamp),
    id: { deliveryId: key, key, event: textField(body, 'type') },
  }
}

function plainHmac(
  { headers, bytes, body }: HookRequest,
  { signatureHeader }: Pick<Hook, 'signatureHeader'>,
  { digest }: Tools,
): ReadSignature {
  const signature = headers[signatureHeader.toLowerCase()]
  if (!signature) return missing(signatureHeader)
  const plain = signature.replace(/^sha256=/i, '').trim()
  const key = digest(bytes.toString('base64'))
  return {
    type: 'read',
    signatures: [plain, plain.toLowerCase()],
    covers: bytes,
    keyBytes: utf8,
    id: { deliveryId: headers['x-delivery-id'] ?? key, key, event: textField(body, 'type') },
  }
}

const secondsOf = (text: string): number => (/^\d{1,12}$/.test(text) ? Number(text) * 1_000 : Number.NaN)

function textField(body: Json | undefined, name: string): string {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return ''
  const value = body?.[name]
  return typeof value === 'string' ? value.slice(0, 200) : ''
}

/** In a time that depends on the length only. */
function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false
  let difference = 0
  for (let index = 0; index < one.length; index++) difference |= one.charCodeAt(index) ^ other.charCodeAt(index)
  return difference === 0
}
