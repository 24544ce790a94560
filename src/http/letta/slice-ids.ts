import type { MessageId } from '../../core/id.ts'

const PREFIX = 'message-'
const SLICE_BITS = 7n
const SLICE_MASK = (1n << SLICE_BITS) - 1n

/**
 * Clients get a stored message in slices. The otid of a slice is the message's UUID with the slice number in the low
 * seven bits.
 */
export const sliceOtid = (id: MessageId, slice: number): string =>
  uuidOf((numberOf(id) & ~SLICE_MASK) | (BigInt(slice) & SLICE_MASK))

/** Clients get an approval request as a separate message, whose id is one below that of the answer. */
export const approvalRequestId = (answerId: MessageId): MessageId => `${PREFIX}${uuidOf(numberOf(answerId) - 1n)}`

/** The answer that an approval request belongs to. */
export const answerOfRequest = (requestId: MessageId): MessageId => `${PREFIX}${uuidOf(numberOf(requestId) + 1n)}`

const numberOf = (id: MessageId): bigint => BigInt(`0x${id.slice(PREFIX.length).replaceAll('-', '')}`)

function uuidOf(value: bigint): string {
  const hex = value.toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
