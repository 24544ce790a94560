import { useRef } from 'preact/hooks'
import { html } from '../html.ts'
import { visible } from '../parts/markup.ts'
import { hrefOf } from '../route.ts'
import { duration, now } from '../times.ts'
import { useLiveRun } from './follow-run.ts'
import { Transcript } from './transcript.ts'

/** Of a turn with thousands of calls, the page draws the last ones. */
const SHOWN_ITEMS = 200

/** A turn that is going on. It alone is drawn again with each piece. */
export function LiveTurnView({ runId, onDone }: { runId: string; onDone(): void }) {
  const { items, waiting, usage } = useLiveRun(runId, onDone)
  return html`
    ${items.length > SHOWN_ITEMS && html`<p class="note">${items.length - SHOWN_ITEMS} earlier steps of this turn are on <a href=${hrefOf('runs', runId)}>the page of its run</a>.</p>`}
    <${Transcript} items=${items.slice(-SHOWN_ITEMS)} isLive=${true} />
    <${TurnState} waiting=${waiting} isEmpty=${items.length === 0} usage=${usage} />
  `
}

type TurnStateProps = {
  waiting?: { text: string; until?: number }
  isEmpty: boolean
  usage?: { prompt_tokens: number; completion_tokens: number }
}

function TurnState({ waiting, isEmpty, usage }: TurnStateProps) {
  const since = useRef(Date.now())
  if (waiting) {
    const left = waiting.until === undefined ? undefined : Math.max(0, waiting.until - now.value)
    return html`<p class="turn-state" role="status">${visible(waiting.text)}${left === undefined ? '' : ` in ${duration(left)}`}</p>`
  }
  const seconds = Math.floor((now.value - since.current) / 1_000)
  return html`<p class="turn-state" role="status"><span class="spinner" aria-hidden="true"></span>
    ${isEmpty ? 'Waiting for the model' : 'Working'}${seconds > 2 ? ` · ${seconds} s` : ''}${usage ? ` · ${usage.prompt_tokens} + ${usage.completion_tokens} tokens` : ''}</p>`
}
