import type { PositionedMessage } from '../core/compaction.ts'
import { cutText } from '../core/cut-text.ts'
import { type InputPart, textOf } from '../core/message.ts'

/** Text before the summary, for the model that continues. */
export const PREFACE =
  'A summary of the earlier conversation follows, in place of its messages. It is for reference: what the latest message says counts more.'

export const INSTRUCTION = `Summarize the conversation you are given, for an assistant who will go on with it and sees nothing else of it.
Write in the past tense about what was done, and keep apart what is still to be done. Say, each under its heading and only where there is something to say:
goal; what the person wants and does not want; what was done, with which tool and what came of it; where things stand; open questions; decisions and their reasons; names, files, numbers and identifiers that will be needed.
Quote what must be exact. Do not answer the conversation, do not call tools, add nothing that is not in it.`

/** One message as text; longer texts in it are cut to `clip` characters. Empty if there is nothing to say. */
export function transcriptEntry({ body }: PositionedMessage, clip: number): string {
  const cut = (text: string) => cutText(text, clip)
  switch (body.role) {
    case 'user':
    case 'system':
      return `${body.role === 'user' ? 'Person' : 'System'}: ${cut(textOf(body.content))}${describeImages(body.content)}`
    case 'assistant': {
      const calls = body.calls.map((call) => `\n[calls ${call.tool} with ${cut(JSON.stringify(call.input))}]`)
      return `Assistant: ${cut(textOf(body.content))}${calls.join('')}`
    }
    case 'tool':
      return body.outcomes.map(({ status, output }) => `Result (${status}): ${cut(output)}`).join('\n')
    case 'summary':
      return earlierSummary(body.text)
    case 'approval':
      return ''
  }
}

export const earlierSummary = (text: string): string => `Summary of what came before: ${text}`

const describeImages = (content: readonly InputPart[]): string => {
  const count = content.filter(({ type }) => type === 'image').length
  return count === 0 ? '' : ` [${count === 1 ? 'an image' : `${count} images`}]`
}
