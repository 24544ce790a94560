import type { Chunk } from '../chunk.ts'

/** What a chat shows of a turn while it runs. */
export type Progress = {
  text: string
  /** The message that `text` belongs to. */
  answerId: string | undefined
  tool: string | undefined
  tools: number
  note: string | undefined
}

export const NO_PROGRESS: Progress = { text: '', answerId: undefined, tool: undefined, tools: 0, note: undefined }

/** Folds the stream of a run. */
export function withChunk(progress: Progress, chunk: Chunk): Progress {
  switch (chunk.message_type) {
    case 'assistant_message': {
      const text = progress.answerId === chunk.id ? progress.text + chunk.content : chunk.content
      return { ...progress, text, answerId: chunk.id, tool: undefined, note: undefined }
    }
    case 'tool_call_message':
    case 'approval_request_message': {
      const names = chunk.tool_calls.map(({ name }) => name)
      return { ...progress, tool: names.join(', '), tools: progress.tools + names.length, note: undefined }
    }
    case 'tool_return_message':
      return { ...progress, tool: undefined }
    case 'message_reset':
      return { ...progress, text: '', answerId: undefined }
    case 'attempt_failed':
      return chunk.next_target || chunk.wait_ms
        ? { ...progress, note: 'the model is not available, trying again' }
        : progress
    case 'worker_lost':
      return { ...progress, note: 'continuing after an interruption' }
    case 'reasoning_message':
    case 'tool_call_delta':
    case 'stop_reason':
    case 'error_message':
    case 'usage_statistics':
    case 'summary_message':
    case 'tool_progress':
    case 'done':
      return progress
  }
}

/** The end of the text so far, and what happens now; undefined if there is nothing to show yet. */
export function progressText(progress: Progress, max: number): string | undefined {
  const { text, tool, note } = progress
  const status = tool ? `⏳ ${tool}` : note ? `⏳ ${note}` : ''
  if (text === '' && status === '') return undefined
  const room = max - status.length - 8
  const shown = text.length > room ? `… ${text.slice(-room).toWellFormed()}` : text
  return [shown, status === '' ? '▌' : status].filter((part) => part !== '').join(status === '' ? ' ' : '\n\n')
}
