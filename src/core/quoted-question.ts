import { cutText } from './cut-text.ts'

/** Before the question that a summary quotes, at its end. */
const QUOTED = '\n\nThe latest message, word for word:\n'

export const withQuestion = (summary: string, question: string | undefined): string =>
  question === undefined ? summary : `${summary}${QUOTED}${question}`

/** The question that a summary quotes. */
export function questionIn(summary: string): string | undefined {
  const start = summary.lastIndexOf(QUOTED)
  return start < 0 ? undefined : summary.slice(start + QUOTED.length)
}

/** Cuts a summary and keeps the question that it quotes recognizable: it is what the model has to answer. */
export function cutSummary(text: string, max: number): string {
  const question = questionIn(text)
  if (question === undefined || text.length <= max) return cutText(text, max)
  const quoted = cutText(question, Math.floor(max / 2))
  const rest = text.slice(0, -question.length - QUOTED.length)
  return withQuestion(cutText(rest, Math.max(0, max - quoted.length - QUOTED.length)), quoted)
}
