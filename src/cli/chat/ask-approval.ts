import type { Verdict } from '../../core/approval.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import { argumentLines } from '../render/arguments.ts'
import { type Look, safeText } from '../terminal.ts'
import type { ChatSession } from './chat-session.ts'

type Asking = Pick<ChatSession, 'keyboard' | 'screen' | 'runCommand' | 'conversation'>

/** Asks about each call in turn. Undefined: the user left the chat or the conversation before the last answer. */
export async function askApproval(calls: readonly ToolCall[], chat: Asking): Promise<Verdict[] | undefined> {
  const { screen } = chat
  const verdicts: Verdict[] = []
  for (const [index, call] of calls.entries()) {
    if (calls.length > 1) screen.line(`  ${index + 1} of ${calls.length}: ${callText(call, screen.look)}`)
    const verdict = await askOne(call, chat)
    if (!verdict) return undefined
    verdicts.push(verdict)
  }
  return verdicts
}

async function askOne(call: ToolCall, chat: Asking): Promise<Verdict | undefined> {
  const { keyboard, screen, runCommand } = chat
  const { id: conversationId } = chat.conversation
  const { bold, dim, yellow } = screen.look.paint
  const why = call.askedBecause ? `${dim(`Approval is needed because ${safeText(call.askedBecause)}.`)} ` : ''
  const question = `  ${yellow('?')} Run ${bold(safeText(call.tool))}? ${why}${dim('y = yes, n = no, or type a reason to deny:')} `
  for (;;) {
    const line = await keyboard.ask(question)
    if (line === undefined) return undefined
    const command = line.trim()
    if (command.startsWith('/') && !ANSWER.test(command)) {
      if ((await runCommand(command)) !== 'go-on') return undefined
      if (chat.conversation.id !== conversationId) return undefined
      continue
    }
    const verdict = verdictOf(line, call)
    if (verdict) return verdict
  }
}

const ANSWER = /^\/(approve|deny)(?:\s+([\s\S]*))?$/

/** y, yes or /approve approves, n, no or /deny denies, and any other text denies with that reason. */
export function verdictOf(line: string, { callId, digest }: Pick<ToolCall, 'callId' | 'digest'>): Verdict | undefined {
  const command = ANSWER.exec(line.trim())
  const answer = command ? (command[1] === 'approve' ? 'yes' : (command[2] ?? '').trim() || 'no') : line.trim()
  if (answer === '') return undefined
  if (/^y(es)?$/i.test(answer)) return { callId, verdict: 'approve', digest }
  if (/^no?$/i.test(answer)) return { callId, verdict: 'deny' }
  return { callId, verdict: 'deny', reason: answer }
}

/** The tool with all of its arguments: the user must see the whole call before approving it. */
export const callText = ({ tool, input }: ToolCall, look: Look): string =>
  `${look.paint.bold(safeText(tool))}${argumentLines(JSON.stringify(input), look)}`
