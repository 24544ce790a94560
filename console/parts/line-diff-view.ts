import { html } from '../html.ts'
import { diffLines } from './line-diff.ts'
import { visible } from './markup.ts'

/** The signs say it too, not only the colors. */
export function LineDiff({ before, after }: { before: string; after: string }) {
  const lines = diffLines(before, after)
  if (lines.length === 0) return html`<p class="hint">It is empty.</p>`
  return html`<pre class="plain diff" tabindex="0">${lines.map((line) =>
    line.sign === '…'
      ? html`<span class="age">… ${line.lines} equal ${line.lines === 1 ? 'line' : 'lines'}${'\n'}</span>`
      : html`<span class=${CLASSES[line.sign]}>${line.sign} ${visible(line.text)}${'\n'}</span>`,
  )}</pre>`
}

const CLASSES = { ' ': '', '−': 'removed', '+': 'added' }
