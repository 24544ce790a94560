import { type Message, textOf } from '../../core/message.ts'
import type { Decision, ToolOutcome } from '../../core/tool-call.ts'
import { indented, type Look, safeText, shortened } from '../terminal.ts'
import { fewLines } from './chunk.ts'

export const USER_PROMPT = 'you ›'

/** Renders a stored message as the chat showed it when it was new. */
export function renderMessage({ body }: Message, { paint, width }: Look): string[] {
  switch (body.role) {
    case 'user':
      return [`${paint.bold(USER_PROMPT)} ${safeText(textOf(body.content)) || '(an image)'}`]
    case 'system':
      return [paint.dim(`system: ${safeText(textOf(body.content))}`)]
    case 'assistant': {
      const text = safeText(textOf(body.content)).trimEnd()
      const calls = body.calls.map(({ tool, input }) => {
        const json = JSON.stringify(input)
        return `  ${paint.cyan('→')} ${paint.bold(safeText(tool))}${json === '{}' ? '' : ` ${paint.dim(shortened(safeText(json), width * 2))}`}`
      })
      return [...(text ? [text] : []), ...(body.cut ? [`  ${paint.yellow('■ Cut off by a cancel.')}`] : []), ...calls]
    }
    case 'tool':
      return body.outcomes.map(
        (outcome) => `  ${outcomeMark(outcome, paint)} ${indented(fewLines(safeText(outcome.output)), '    ')}`,
      )
    case 'approval':
      return body.decisions.map((decision) => `  ${paint.yellow('?')} ${decisionText(decision)}`)
    case 'summary':
      return [paint.dim(`summary of earlier messages: ${safeText(body.text)}`)]
  }
}

const outcomeMark = ({ status }: ToolOutcome, paint: Look['paint']): string =>
  status === 'success' ? paint.green('✓') : paint.red('✗')

export function decisionText(decision: Decision): string {
  switch (decision.verdict) {
    case 'approve':
      return 'approved'
    case 'deny':
      return decision.reason ? `denied: ${safeText(decision.reason)}` : 'denied'
    case 'result':
      return `answered by the client (${decision.status})`
  }
}
