import { useRef } from 'preact/hooks'
import { connection } from '../feed.ts'
import { html } from '../html.ts'
import { visible } from '../parts/markup.ts'
import { hrefOf } from '../route.ts'
import { duration, now, present } from '../times.ts'
import { useLiveRun } from './follow-run.ts'
import { Transcript } from './transcript.ts'

/** Of a turn with thousands of calls, the page draws the last ones. */
const SHOWN_ITEMS = 200

/** A turn that is going on. It alone is drawn again with each piece. */
export function LiveTurnView({ runId, retryAt, onDone }: { runId: string; retryAt: string | null; onDone(): void }) {
  const { items, waiting, usage } = useLiveRun(runId, onDone)
  return html`
    ${items.length > SHOWN_ITEMS && html`<p class="note">${items.length - SHOWN_ITEMS} earlier steps of this turn are on <a href=${hrefOf('runs', runId)}>the page of its run</a>.</p>`}
    <${Transcript} items=${items.slice(-SHOWN_ITEMS)} isLive=${true} />
    <${TurnState} waiting=${waiting} retryAt=${retryAt} isEmpty=${items.length === 0} usage=${usage} />
  `
}

type TurnStateProps = {
  waiting?: { text: string; until?: number }
  /** As it is committed: a page that was opened later has not seen the wait begin. */
  retryAt: string | null
  isEmpty: boolean
  usage?: { prompt_tokens: number; completion_tokens: number }
}

function TurnState({ waiting, retryAt, isEmpty, usage }: TurnStateProps) {
  const since = useRef(present())
  if (connection.value.state === 'lost')
    return html`<p class="turn-state waiting" role="status">Without a connection it is not known how far the turn is.</p>`
  if (waiting) {
    const left = Math.min(
      ...[waiting.until, retryAt === null ? undefined : Date.parse(retryAt)]
        .map((at) => (at ?? Number.POSITIVE_INFINITY) - now.value)
        .filter((ms) => ms > 0),
    )
    return html`<p class="turn-state waiting" role="status">${visible(waiting.text)}${waiting.until === undefined ? '' : Number.isFinite(left) ? ` in ${duration(Math.max(1_000, left))}` : ' now'}</p>`
  }
  const seconds = Math.floor((now.value - since.current) / 1_000)
  return html`<p class="turn-state" role="status"><span class="spinner" aria-hidden="true"></span>${' '}${isEmpty ? 'Waiting for the model' : 'Working'}${seconds > 2 ? ` · ${seconds} s` : ''}${usage ? ` · ${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out` : ''}</p>`
}
