import type { Chunk, WireCall, WireReturn } from '../../core/chunk.ts'
import type { StopReason } from '../../core/run.ts'
import { CLEAR_LINE, indented, type Look, safeText, shortened } from '../terminal.ts'

/** A piece of output. `answer` is what was asked for, `note` is said about it; a caller may part the two. */
export type Piece = { to: 'answer' | 'note'; text: string }

/** Where the telling of a run stands: what the line that is still open holds, and which call is which tool. */
type RenderState = { open: 'nothing' | 'answer' | 'thought' | 'progress'; tools: Readonly<Record<string, string>> }

export const NEW_RENDER_STATE: RenderState = { open: 'nothing', tools: {} }

/** Results are for the model; a person gets enough to follow. */
const MAX_RESULT_LINES = 12
const MAX_ARGUMENT_CHARACTERS = 400
const FIRST_LINE_CHARACTERS = 40

/** One chunk as text for people. Pure: the same chunks give the same screen. */
export function renderChunk(state: RenderState, chunk: Chunk, look: Look): RenderedChunk {
  const { paint } = look
  switch (chunk.message_type) {
    case 'assistant_message':
      return text(state, chunk.content)
    case 'reasoning_message':
      return thought(state, chunk.reasoning, look)
    case 'tool_call_message': {
      const lines = chunk.tool_calls.map((call) => `  ${paint.cyan('→')} ${callText(call, look)}`)
      return note({ ...state, tools: withToolNames(state, chunk.tool_calls) }, lines)
    }
    case 'approval_request_message': {
      const lines = chunk.tool_calls.map((call) => `  ${paint.yellow('?')} ${guardedText(call, look)}`)
      return note({ ...state, tools: withToolNames(state, chunk.tool_calls) }, lines)
    }
    case 'tool_return_message':
      return note(state, [resultText(chunk.name, chunk.tool_return, look)])
    case 'tool_progress':
      return progress(state, chunk, look)
    case 'attempt_failed': {
      const what = `${safeText(chunk.target) || 'The model'} failed (${chunk.kind}): ${sentence(chunk.detail)}`
      return note(state, [`  ${paint.yellow(`! ${what}`)} ${remedyText(chunk.remedy, chunk.next_target)}`])
    }
    case 'summary_message':
      return note(state, [`  ${paint.yellow('≡ What came before was summarized')} to make room.`])
    case 'message_reset': {
      const why = RESET_TEXT[chunk.reason] ?? `the model failed: ${safeText(chunk.reason)}`
      return note(state, [`  ${paint.yellow('↺ The text above was abandoned')}: ${why}.`])
    }
    case 'worker_lost': {
      const again = chunk.deaths > 1 ? ` (${chunk.deaths} times at this step)` : ''
      return note(state, [`  ${paint.yellow('↺ The process running this turn died')}${again}; another one goes on.`])
    }
    case 'stop_reason': {
      const sentence = STOP_TEXT[chunk.stop_reason]
      return note(state, sentence ? [`  ${paint.yellow(`■ ${sentence}`)}`] : [])
    }
    case 'error_message': {
      const detail = chunk.detail ? ` (${safeText(chunk.detail)})` : ''
      return note(state, [`  ${paint.red('✗')} ${safeText(chunk.message)}${detail}`])
    }
    case 'usage_statistics':
    case 'done':
      return note(state, [])
  }
}

type RenderedChunk = { state: RenderState; pieces: Piece[] }

/** Text of an answer goes on where it stopped; anything else on the open line is closed first. */
function text(state: RenderState, content: string): RenderedChunk {
  if (content === '') return { state, pieces: [] }
  const before = state.open === 'answer' ? [] : closing(state)
  const open = content.endsWith('\n') ? 'nothing' : 'answer'
  return { state: { ...state, open }, pieces: [...before, { to: 'answer', text: safeText(content) }] }
}

function thought(state: RenderState, reasoning: string, look: Look): RenderedChunk {
  if (reasoning === '') return { state, pieces: [] }
  const { dim } = look.paint
  const before = state.open === 'thought' ? [] : [...closing(state), piece(dim('thinking: '))]
  return { state: { ...state, open: 'thought' }, pieces: [...before, piece(dim(safeText(reasoning)))] }
}

function note(state: RenderState, lines: string[]): RenderedChunk {
  const pieces = [...closing(state), ...lines.map((line) => piece(`${line}\n`))]
  return { state: { ...state, open: 'nothing' }, pieces }
}

/** One line that is written over where the screen can do that; otherwise a line each. */
function progress(
  state: RenderState,
  chunk: Extract<Chunk, { message_type: 'tool_progress' }>,
  look: Look,
): RenderedChunk {
  const name = state.tools[chunk.tool_call_id]
  const words = shortened(`${name ? `${name}: ` : ''}${safeText(chunk.text).replaceAll('\n', ' ')}`, look.width - 6)
  const line = `  ${look.paint.dim(`… ${words}`)}`
  if (!look.canRedraw) return note(state, [line])
  return { state: { ...state, open: 'progress' }, pieces: [...closing(state), piece(line)] }
}

/** Ends the open line on the side it was written to. */
function closing({ open }: RenderState): Piece[] {
  switch (open) {
    case 'nothing':
      return []
    case 'answer':
      return [{ to: 'answer', text: '\n' }]
    case 'thought':
      return [piece('\n')]
    case 'progress':
      return [piece(CLEAR_LINE)]
  }
}

const piece = (words: string): Piece => ({ to: 'note', text: words })

const withToolNames = (state: RenderState, calls: WireCall[]): RenderState['tools'] => ({
  ...state.tools,
  ...Object.fromEntries(calls.map((call) => [call.tool_call_id, safeText(call.name)])),
})

function callText({ name, arguments: json }: WireCall, { paint }: Look): string {
  const shown = json === '{}' ? '' : ` ${paint.dim(shortened(safeText(inBrief(json)), MAX_ARGUMENT_CHARACTERS))}`
  return `${paint.bold(safeText(name))}${shown}`
}

/** Of a text with many lines, a file that is written, say, the first tells which it is. */
function inBrief(json: string): string {
  if (!json.includes('\\n')) return json
  try {
    return JSON.stringify(JSON.parse(json, (_, value) => (typeof value === 'string' ? firstLine(value) : value)))
  } catch {
    // A model may write what is no JSON; it is shown as it is.
    return json
  }
}

function firstLine(text: string): string {
  const lines = text.trimEnd().split('\n')
  return lines.length === 1 ? text : `${lines[0]!.slice(0, FIRST_LINE_CHARACTERS)}… (${lines.length} lines)`
}

/** Nothing of a call that needs a person's word is left out: they answer for all of it. */
function guardedText({ name, arguments: json }: WireCall, { paint }: Look): string {
  return `${paint.bold(safeText(name))} needs your approval${argumentLines(json)}`
}

/** Each argument on its own line. */
export function argumentLines(json: string): string {
  const parsed: unknown = JSON.parse(json)
  const isRecord = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  const lines = isRecord
    ? Object.entries(parsed).map(([key, value]) => `${safeText(key)}: ${safeText(shownValue(value))}`)
    : [safeText(json)]
  return lines.map((line) => `\n      ${indented(line, '        ')}`).join('')
}

const shownValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function resultText(name: string, { status, tool_return }: WireReturn, { paint }: Look): string {
  const mark = status === 'success' ? paint.green('✓') : paint.red('✗')
  return `  ${mark} ${name ? `${name}: ` : ''}${indented(fewLines(safeText(tool_return)), '    ')}`
}

export function fewLines(output: string): string {
  const lines = output.trimEnd().split('\n')
  if (lines.length <= MAX_RESULT_LINES) return lines.join('\n')
  return [...lines.slice(0, MAX_RESULT_LINES), `… and ${lines.length - MAX_RESULT_LINES} more lines`].join('\n')
}

const sentence = (text: string): string => `${safeText(text).trimEnd().replace(/\.$/, '')}.`

/** What is done about a failed attempt, with the name of who is asked now. */
export function remedyText(remedy: string, nextTarget?: string): string {
  const words = REMEDY_TEXT[remedy] ?? remedy
  return nextTarget === undefined ? words : `${words.replace(/\.$/, '')}: ${safeText(nextTarget)}.`
}

/** What is done about a failed attempt. */
const REMEDY_TEXT: Record<string, string> = {
  wait: 'Waiting a moment, then trying again.',
  'retry-credential': 'Trying once more with the same key.',
  'refresh-credential': 'Renewing the credential.',
  'refresh-entitlement': 'Asking whether the account is paid up.',
  'next-credential': 'Going on with another key.',
  'strip-signatures': 'Sending the history without signed thoughts.',
  'drop-encrypted-reasoning': 'Sending the history without encrypted thoughts.',
  'shrink-images': 'Sending smaller images.',
  'strip-images': 'Sending the history without images.',
  'text-only-results': 'Sending tool results as text only.',
  'drop-long-context-beta': 'Asking without the long context.',
  'relax-schemas': 'Sending simpler tool schemas.',
  'cap-output': 'Asking for a shorter answer.',
  'raise-output-cap': 'Allowing a longer answer.',
  nudge: 'Asking again.',
  continue: 'Letting it go on where it stopped.',
  'adopt-window': 'Taking the smaller context window it states.',
  compact: 'Summarizing what came before.',
  'rebuild-transport': 'Making new connections.',
  'next-target': 'Going on with the next model of the chain.',
  'give-up': 'Nothing is left to try.',
}

const RESET_TEXT: Record<string, string> = {
  interrupted: 'the process that was writing it stopped. It is told again from here',
  'numbers-lost': 'a part of this stream was lost. The messages are whole',
  'time-limit': 'the run reached its time limit',
}

/** Only where the stream does not say it otherwise. */
const STOP_TEXT: Record<StopReason, string> = {
  end_turn: '',
  tool_rule: '',
  requires_approval: '',
  max_steps: 'Stopped: this turn reached its step limit.',
  cancelled: 'Cancelled.',
  error: '',
  llm_api_error: '',
  invalid_llm_response: '',
  invalid_tool_call: '',
  no_tool_call: '',
  max_tokens_exceeded: '',
  context_window_overflow_in_system_prompt: '',
  insufficient_credits: '',
}
