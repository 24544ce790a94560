import type { Verdict } from '../../core/approval.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import { argumentLines } from '../render/chunk.ts'
import { type Look, type Screen, safeText } from '../terminal.ts'
import type { Keyboard } from './keyboard.ts'

/** Asks about each call in turn. Undefined: the user left before the last answer, so no call is answered. */
export async function askApproval(
  calls: readonly ToolCall[],
  keyboard: Keyboard,
  screen: Screen,
): Promise<Verdict[] | undefined> {
  const verdicts: Verdict[] = []
  for (const [index, call] of calls.entries()) {
    if (calls.length > 1) screen.line(`  ${index + 1} of ${calls.length}: ${callText(call, screen.look)}`)
    const verdict = await askOne(call, keyboard, screen)
    if (!verdict) return undefined
    verdicts.push(verdict)
  }
  return verdicts
}

async function askOne(call: ToolCall, keyboard: Keyboard, { look }: Screen): Promise<Verdict | undefined> {
  const { bold, dim, yellow } = look.paint
  const why = call.askedBecause ? `${dim(`Approval is needed because ${safeText(call.askedBecause)}.`)} ` : ''
  const question = `  ${yellow('?')} Run ${bold(safeText(call.tool))}? ${why}${dim('y = yes, n = no, or type a reason to deny:')} `
  for (;;) {
    const line = await keyboard.ask(question)
    if (line === undefined) return undefined
    const verdict = verdictOf(line, call)
    if (verdict) return verdict
  }
}

/** y or yes approves, n or no denies, and any other text denies with that reason. */
export function verdictOf(line: string, { callId, digest }: Pick<ToolCall, 'callId' | 'digest'>): Verdict | undefined {
  const answer = line.trim()
  if (answer === '') return undefined
  if (/^y(es)?$/i.test(answer)) return { callId, verdict: 'approve', digest }
  if (/^no?$/i.test(answer)) return { callId, verdict: 'deny' }
  return { callId, verdict: 'deny', reason: answer }
}

/** The tool with all of its arguments: the user must see the whole call before approving it. */
export const callText = ({ tool, input }: ToolCall, { paint }: Look): string =>
  `${paint.bold(safeText(tool))}${argumentLines(JSON.stringify(input))}`
