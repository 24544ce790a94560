import { useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { useRunCommits } from '../chat/follow-run.ts'
import { html } from '../html.ts'
import { costText } from '../parts/cost.ts'
import { shortName, visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { goTo, hrefOf } from '../route.ts'
import { RunAgain } from '../run/run-again.ts'
import { spanText, type TimelineRow, timelineOf, type WireEvent } from '../run/timeline.ts'
import { may } from '../session.ts'
import { ageOf, clockTime, now } from '../times.ts'
import { type RunOverview, stateText } from './runs.ts'

/** A run with thousands of calls is shown in parts. */
const PART = 300

export function RunScreen({ id }: { id: string }) {
  const isMine = (change: { kind: string; id: string }) => change.kind === 'run' && change.id === id
  const overview = useResource<RunOverview>(`/v1/holdfast/runs/${id}`, isMine).value
  const events = useResource<WireEvent[]>(`/v1/runs/${id}/events`, isMine).value
  const shown = useSignal(PART)
  useRunCommits(overview.value?.state === 'running' ? id : undefined, () => {
    events.reload()
    overview.reload()
  })
  const run = overview.value
  if (overview.failure) return html`<h1>Run</h1><${Fault} failure=${overview.failure} />`
  if (!run) return html`<p class="empty" role="status">Loading …</p>`
  const isOver = run.state !== 'running' && run.state !== 'created'
  const rows = timelineOf(events.value ?? [], isOver)
  return html`
    <h1>Run of <a href=${hrefOf('agents', run.agent_id)}>${shortName(run.agent_name)}</a></h1>
    <p class="words-full">${visible(run.first_words)}</p>
    <div class="facts">
      <strong class=${`state-${run.state}`}>${stateText(run)}</strong>
      <span title=${clockTime(run.created_at)}>${ageOf(run.created_at)}</span>
      ${run.completed_at && html`<span>took ${spanText(Date.parse(run.completed_at) - Date.parse(run.created_at))}</span>`}
      <span>${costText(run.cost_usd)}</span>
      <a href=${hrefOf('chat', run.conversation_id)}>Conversation</a>
    </div>
    ${run.error && html`<p class="fault">${visible(run.error)}</p>`}
    <${Actions} run=${run} isOver=${isOver} />
    <h2>What happened</h2>
    <${Fault} failure=${events.failure} />
    <${Waterfall} rows=${rows.slice(0, shown.value)} end=${isOver ? undefined : now.value} />
    ${
      rows.length > shown.value &&
      html`<button onClick=${() => {
        shown.value += PART
      }}>Show ${Math.min(PART, rows.length - shown.value)} of ${rows.length - shown.value} more</button>`
    }
    <${EventLog} events=${events.value ?? []} />
  `
}

function Actions({ run, isOver }: { run: RunOverview; isOver: boolean }) {
  const failure = useSignal<Failure | undefined>(undefined)
  if (!may('agent')) return null

  async function cancel(): Promise<void> {
    const answer = await request('DELETE', `/v1/runs/${run.id}`)
    failure.value = answer.ok ? undefined : answer.failure
  }

  return html`
    ${(!isOver || run.state === 'waiting') && html`<div class="bar"><button class="stop" onClick=${cancel}>Cancel this run</button></div>`}
    <${Fault} failure=${failure.value} />
    ${isOver && html`<${RunAgain} run=${run} onSent=${() => goTo('chat', run.conversation_id)} />`}
  `
}

/** Bars are drawn as SVG: their sizes are data, and the page allows no inline styles. */
function Waterfall({ rows, end }: { rows: readonly TimelineRow[]; end?: number }) {
  if (rows.length === 0) return html`<p class="empty">Nothing yet.</p>`
  const start = rows[0]!.from
  const last = Math.max(end ?? 0, ...rows.map(({ from, to }) => to ?? from))
  const span = Math.max(1, last - start)
  const x = (at: number) => ((at - start) / span) * 100
  return html`
    <table class="waterfall">
      <thead><tr><th>What</th><th class="number">Took</th><th>When</th></tr></thead>
      <tbody>
        ${rows.map((row) => {
          const to = row.to ?? last
          return html`
          <tr key=${row.key} class=${`tone-${row.tone}`}>
            <td>${row.kind === 'tool' ? html`<code>${visible(row.label)}</code>` : visible(row.label)}${row.detail && html`<br /><small>${visible(row.detail)}</small>`}</td>
            <td class="number">${row.kind === 'mark' ? '' : `${spanText(to - row.from)}${row.to === undefined ? ' …' : ''}`}</td>
            <td class="lane"><svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=${`${spanText(row.from - start)} after the start`}>
              <rect class=${row.kind} x=${Math.min(99.4, x(row.from))} y="1" width=${Math.max(0.6, x(to) - x(row.from))} height="6" />
            </svg></td>
          </tr>`
        })}
      </tbody>
    </table>
  `
}

function EventLog({ events }: { events: readonly WireEvent[] }) {
  const note = useSignal('')
  const isOpen = useSignal(false)
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(JSON.stringify(events, undefined, 2))
      note.value = `Copied ${events.length} events.`
    } catch {
      note.value = 'This browser does not let pages copy here. Select the text below.'
      isOpen.value = true
    }
  }
  return html`
    <div class="bar"><button onClick=${copy}>Copy the events as JSON</button><span role="status">${note.value}</span></div>
    <details open=${isOpen.value} onToggle=${(event: Event) => {
      isOpen.value = (event.currentTarget as HTMLDetailsElement).open
    }}><summary>The event log (${events.length})</summary>
      ${isOpen.value && html`<pre class="plain" tabindex="0">${visible(JSON.stringify(events.slice(0, PART), undefined, 2))}</pre>`}
      ${isOpen.value && events.length > PART && html`<p class="hint">The first ${PART} are shown; copying takes all.</p>`}
    </details>
  `
}
