import type { SummaryBody } from '../../core/message.ts'

/** A summary has no role of its own on any wire: it goes as a user message that says what it is. */
export const summaryText = ({ text, replaces }: SummaryBody): string =>
  `[A summary of messages ${replaces.from} to ${replaces.to} of this conversation, which are no longer shown. It is a record, not a request.]\n\n${text}`
