import type { FastifyReply } from 'fastify'

export const WARNINGS_HEADER = 'x-holdfast-warnings'

/** Adds sentences to the response header that names what was accepted and has no effect, or not the usual one. */
export function addWarnings(reply: FastifyReply, sentences: readonly string[]): void {
  if (sentences.length === 0) return
  const before = reply.getHeader(WARNINGS_HEADER)
  const all = [...(before === undefined ? [] : [String(before)]), ...sentences]
  // A header holds printable ASCII only.
  reply.header(WARNINGS_HEADER, shortened(all.join(' ')).replaceAll(/[^ -~]/g, '?'))
}

/** Proxies and clients reject larger headers. */
const MAX_LENGTH = 4_000

const shortened = (text: string): string => (text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)} ...`)
