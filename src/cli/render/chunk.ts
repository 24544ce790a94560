import { type Chunk, spokenText, type WireCall, type WireReturn } from '../../core/chunk.ts'
import type { StopReason } from '../../core/run.ts'
import { CLEAR_LINE, indented, type Look, safeName, safeText, shortened } from '../terminal.ts'
import { argumentLines } from './arguments.ts'
import { runErrorLines } from './run-error.ts'

/** A piece of output: the answer of the model, or a note about the turn. Callers may separate the two. */
export type Piece = { to: 'answer' | 'note'; text: string }

/** State of rendering a run: the content of the unfinished line, tool names by call id, and the call being written. */
type RenderState = {
  open: 'nothing' | 'answer' | 'thought' | 'progress'
  tools: Readonly<Record<string, string>>
  writing?: { callId: string; name: string; beginning: string; characters: number }
}

export const NEW_RENDER_STATE: RenderState = { open: 'nothing', tools: {} }

/** Tool results are for the model; the screen shows enough to follow. */
const MAX_RESULT_LINES = 12
const MAX_ARGUMENT_CHARACTERS = 400
const FIRST_LINE_CHARACTERS = 40

/** Renders one chunk as text. Pure: the same chunks give the same screen. */
export function renderChunk(state: RenderState, chunk: Chunk, look: Look): RenderedChunk {
  const { paint } = look
  switch (chunk.message_type) {
    case 'assistant_message':
      return text(state, chunk.content)
    case 'reasoning_message':
      return thought(state, chunk.reasoning, look)
    case 'tool_call_delta':
      return callBeingWritten(state, chunk, look)
    case 'tool_call_message': {
      const speech = spokenText(chunk.tool_calls)
      if (speech !== undefined) return spoken(state, chunk.tool_calls, speech)
      const lines = chunk.tool_calls.map((call) => `  ${paint.cyan('→')} ${callText(call, look)}`)
      return note({ ...state, tools: withToolNames(state, chunk.tool_calls) }, lines)
    }
    case 'approval_request_message': {
      const lines = chunk.tool_calls.map((call) => `  ${paint.yellow('?')} ${guardedText(call, look)}`)
      return note({ ...state, tools: withToolNames(state, chunk.tool_calls) }, lines)
    }
    case 'tool_return_message':
      if (isSpoken(state, chunk.tool_return)) return note(state, [])
      return note(state, [resultText(chunk.name, chunk.tool_return, look)])
    case 'tool_progress':
      return progress(state, chunk, look)
    case 'attempt_failed': {
      const what = `${safeText(chunk.target) || 'The model'} failed (${chunk.kind}): ${sentence(chunk.detail)}`
      return note(state, [`  ${paint.yellow(`! ${what}`)} ${remedyText(chunk.remedy, chunk.next_target)}`])
    }
    case 'summary_message':
      return note(state, [`  ${paint.yellow('≡ Earlier messages were summarized')} to make room.`])
    case 'message_reset': {
      const why = RESET_TEXT[chunk.reason] ?? `the model failed: ${safeText(chunk.reason)}`
      return note(state, [`  ${paint.yellow('↺ The text above was discarded')}: ${why}.`])
    }
    case 'worker_lost': {
      const again = chunk.deaths > 1 ? ` (${chunk.deaths} times at this step)` : ''
      return note(state, [
        `  ${paint.yellow('↺ The process running this turn died')}${again}; another worker continues.`,
      ])
    }
    case 'stop_reason': {
      const sentence = STOP_TEXT[chunk.stop_reason]
      return note(state, sentence ? [`  ${paint.yellow(`■ ${sentence}`)}`] : [])
    }
    case 'error_message': {
      const [error, ...advice] = runErrorLines(chunk)
      return note(state, [`  ${paint.red('✗')} ${error}`, ...advice.map((line) => `    ${line}`)])
    }
    case 'usage_statistics':
    case 'done':
      return note(state, [])
  }
}

type RenderedChunk = { state: RenderState; pieces: Piece[] }

/** Answer text continues its line; any other open line is closed first. */
function text(state: RenderState, content: string): RenderedChunk {
  if (content === '') return { state, pieces: [] }
  const before = state.open === 'answer' ? [] : closing(state)
  const open = content.endsWith('\n') ? 'nothing' : 'answer'
  return { state: { ...state, open }, pieces: [...before, { to: 'answer', text: safeText(content) }] }
}

/** A call that is shown as what it says; its success says nothing. */
function spoken(state: RenderState, calls: readonly WireCall[], words: string): RenderedChunk {
  const { state: closed, pieces } = note(state, [])
  const tools = { ...closed.tools, [calls[0]!.tool_call_id]: SPOKEN }
  const said = text({ ...closed, tools }, `${words}\n`)
  return { state: said.state, pieces: [...pieces, ...said.pieces] }
}

const SPOKEN = ''

const isSpoken = ({ tools }: RenderState, { tool_call_id, status }: WireReturn): boolean =>
  status === 'success' && tools[tool_call_id] === SPOKEN

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

/** The beginning of the arguments on one line that is overwritten; the whole call is printed when it is complete. */
function callBeingWritten(
  state: RenderState,
  { tool_call_id: callId, name = '', arguments: text }: Extract<Chunk, { message_type: 'tool_call_delta' }>,
  look: Look,
): RenderedChunk {
  const former = state.writing?.callId === callId ? state.writing : { name, beginning: '', characters: 0 }
  const beginning = (former.beginning + text).slice(0, MAX_ARGUMENT_CHARACTERS)
  const characters = former.characters + text.length
  const next: RenderState = { ...state, writing: { callId, name: former.name, beginning, characters } }
  if (!look.canRedraw) return { state: next, pieces: [] }
  const count = ` (${characters.toLocaleString('en-US')} characters)`
  const words = shortened(safeText(`${former.name} ${beginning}`).replaceAll('\n', ' '), look.width - 6 - count.length)
  return openProgress(next, `  ${look.paint.dim(`… ${words}${count}`)}`)
}

/** One line that is overwritten if the screen supports it; otherwise a line each. */
function progress(
  state: RenderState,
  chunk: Extract<Chunk, { message_type: 'tool_progress' }>,
  look: Look,
): RenderedChunk {
  const name = state.tools[chunk.tool_call_id]
  const words = shortened(`${name ? `${name}: ` : ''}${safeText(chunk.text).replaceAll('\n', ' ')}`, look.width - 6)
  const line = `  ${look.paint.dim(`… ${words}`)}`
  if (!look.canRedraw) return note(state, [line])
  return openProgress(state, line)
}

const openProgress = (state: RenderState, line: string): RenderedChunk => ({
  state: { ...state, open: 'progress' },
  pieces: [...closing(state), piece(line)],
})

/** Ends the open line on the stream it was written to. */
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
  ...Object.fromEntries(calls.map((call) => [call.tool_call_id, safeName(call.name)])),
})

function callText({ name, arguments: json }: WireCall, { paint }: Look): string {
  const shown = json === '{}' ? '' : ` ${paint.dim(shortened(safeText(inBrief(json)), MAX_ARGUMENT_CHARACTERS))}`
  return `${paint.bold(safeName(name))}${shown}`
}

/** Shortens arguments of several lines, for example the content of a file, to the first line. */
function inBrief(json: string): string {
  if (!json.includes('\\n')) return json
  try {
    return JSON.stringify(JSON.parse(json, (_, value) => (typeof value === 'string' ? firstLine(value) : value)))
  } catch {
    // Models may write invalid JSON; it is shown as it is.
    return json
  }
}

function firstLine(text: string): string {
  const lines = text.trimEnd().split('\n')
  return lines.length === 1 ? text : `${lines[0]!.slice(0, FIRST_LINE_CHARACTERS)}… (${lines.length} lines)`
}

/** Shows every argument in full: the user approves the whole call. */
function guardedText({ name, arguments: json }: WireCall, look: Look): string {
  return `${look.paint.bold(safeName(name))} needs your approval${argumentLines(json, look)}`
}

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

/** Describes the remedy for a failed attempt, with the next target if it changes. */
export function remedyText(remedy: string, nextTarget?: string): string {
  const words = REMEDY_TEXT[remedy] ?? remedy
  return nextTarget === undefined ? words : `${words.replace(/\.$/, '')}: ${safeText(nextTarget)}.`
}

const REMEDY_TEXT: Record<string, string> = {
  wait: 'Waiting a moment, then retrying.',
  'retry-credential': 'Retrying once with the same credential.',
  'refresh-credential': 'Refreshing the credential.',
  'refresh-entitlement': 'Checking the account for paid access.',
  'next-credential': 'Switching to another credential.',
  'strip-signatures': 'Resending without reasoning signatures.',
  'drop-encrypted-reasoning': 'Resending without encrypted reasoning.',
  'shrink-images': 'Resending with smaller images.',
  'strip-images': 'Resending without images.',
  'text-only-results': 'Resending with text-only tool results.',
  'drop-long-context-beta': 'Resending without the long-context beta.',
  'relax-schemas': 'Resending with simpler tool schemas.',
  'cap-output': 'Lowering the output limit.',
  'raise-output-cap': 'Raising the output limit.',
  'prompt-again': 'Prompting the model again.',
  continue: 'Asking the model to continue where it stopped.',
  'adopt-window': 'Assuming a smaller context window.',
  'leave-out': 'Leaving the earlier messages out, with a mark in their place.',
  compact: 'Summarizing earlier messages.',
  'rebuild-transport': 'Opening new connections.',
  'next-target': 'Failing over to the next model in the chain.',
  'give-up': 'Giving up: no remedy is left.',
}

const RESET_TEXT: Record<string, string> = {
  interrupted: 'the process that was writing it stopped. The answer starts again here',
  'numbers-lost': 'a part of this stream was lost. The stored messages are complete',
  'time-limit': 'the run reached its time limit',
  cancelled: 'the turn was cancelled',
  'calls-rewritten': 'a call is not what it seemed to be. The answer is repeated here',
}

/** Empty where another chunk already tells the reason. */
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
