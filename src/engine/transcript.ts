import type { PositionedMessage } from '../core/compaction.ts'
import { type MessageBody, textOf } from '../core/message.ts'

/** Text before the summary, for the model that continues. */
export const PREFACE =
  'A summary of the earlier conversation follows, in place of its messages. It is for reference: what the latest message says counts more.'

export const INSTRUCTION = `Summarize the conversation you are given, for an assistant who will go on with it and sees nothing else of it.
Write in the past tense about what was done, and keep apart what is still to be done. Say, each under its heading and only where there is something to say:
goal; what the person wants and does not want; what was done, with which tool and what came of it; where things stand; open questions; decisions and their reasons; names, files, numbers and identifiers that will be needed.
Quote what must be exact. Do not answer the conversation, do not call tools, add nothing that is not in it.`

/** Characters kept from the beginning and the end of a long text. */
const HEAD = 4_000
const TAIL = 1_500
const MAX_CLIPPED = HEAD + TAIL

/** The messages as text, each clipped so that a long one does not crowd out the rest. */
export function transcriptOf(messages: readonly PositionedMessage[]): string {
  return messages
    .map(({ body }) => transcriptEntry(body))
    .filter(Boolean)
    .join('\n\n')
}

function transcriptEntry(body: MessageBody): string {
  switch (body.role) {
    case 'user':
    case 'system':
      return `${body.role === 'user' ? 'Person' : 'System'}: ${clip(textOf(body.content))}${describeImages(body.content)}`
    case 'assistant': {
      const calls = body.calls.map((call) => `\n[calls ${call.tool} with ${clip(JSON.stringify(call.input))}]`)
      return `Assistant: ${clip(textOf(body.content))}${calls.join('')}`
    }
    case 'tool':
      return body.outcomes.map(({ status, output }) => `Result (${status}): ${clip(output)}`).join('\n')
    case 'summary':
      return `Summary of what came before: ${body.text}`
    case 'approval':
      return ''
  }
}

const describeImages = (content: readonly { type: string }[]): string => {
  const count = content.filter(({ type }) => type === 'image').length
  return count === 0 ? '' : ` [${count === 1 ? 'an image' : `${count} images`}]`
}

function clip(text: string): string {
  if (text.length <= MAX_CLIPPED) return text
  return `${text.slice(0, HEAD)} […${text.length - MAX_CLIPPED} characters left out…] ${text.slice(-TAIL)}`
}
