import type { SummaryBody } from '../../core/message.ts'

/** No vendor has a role for summaries: they are sent as a labeled user message. */
export const summaryText = ({ text, replaces }: SummaryBody): string =>
  `[A summary of messages ${replaces.from} to ${replaces.to} of this conversation, which are no longer shown. It is a record, not a request.]\n\n${text}`
