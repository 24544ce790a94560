import type { MessageId } from '../../core/id.ts'

const PREFIX = 'message-'
const SLICE_BITS = 7n
const SLICE_MASK = (1n << SLICE_BITS) - 1n

/** One stored message is told in slices; each is named by the message's uuid with its number in the low seven bits. */
export const sliceOtid = (id: MessageId, slice: number): string =>
  uuidOf((numberOf(id) & ~SLICE_MASK) | (BigInt(slice) & SLICE_MASK))

/** The request for approval of an answer's calls is told as a message of its own, one below the answer. */
export const approvalRequestId = (answerId: MessageId): MessageId => `${PREFIX}${uuidOf(numberOf(answerId) - 1n)}`

/** The answer a request for approval belongs to. */
export const answerOfRequest = (requestId: MessageId): MessageId => `${PREFIX}${uuidOf(numberOf(requestId) + 1n)}`

const numberOf = (id: MessageId): bigint => BigInt(`0x${id.slice(PREFIX.length).replaceAll('-', '')}`)

function uuidOf(value: bigint): string {
  const hex = value.toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
