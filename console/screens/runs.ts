import { html } from '../html.ts'
import { costText } from '../parts/cost.ts'
import { shortName, visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useOlder } from '../parts/older.ts'
import { useResource } from '../resource.ts'
import { goTo, hrefOf, route } from '../route.ts'
import { ageOf, clockTime, duration, now } from '../times.ts'

export type RunOverview = {
  id: string
  state: 'created' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  stop_reason: string | null
  /** Of a heartbeat: its agent said nothing. */
  silent: boolean
  error: string | null
  agent_id: string
  agent_name: string
  conversation_id: string
  first_words: string
  cost_usd: number | null
  deaths: number
  retry_at: string | null
  created_at: string
  completed_at: string | null
}

type Counts = Record<'created' | 'running' | 'retrying' | 'waiting', number>

const STATES: Record<string, string> = {
  '': 'All',
  running: 'Running',
  retrying: 'Retrying',
  waiting: 'Waiting for a person',
  created: 'Queued',
  failed: 'Failed',
  cancelled: 'Cancelled',
  completed: 'Completed',
}

const PAGE = 50

export function RunsScreen() {
  const state = route.value.query.get('state') ?? ''
  const agent = route.value.query.get('agent') ?? ''
  const words = route.value.query.get('words') ?? ''
  const query = new URLSearchParams({ limit: String(PAGE) })
  if (state) query.set('state', state)
  if (agent) query.set('agent_id', agent)
  if (words) query.set('words', words)
  const path = `/v1/holdfast/runs?${query}`
  const isRun = ({ kind }: { kind: string }) => kind === 'run'
  const list = useResource<RunOverview[]>(path, isRun).value
  const counts = useResource<Counts>('/v1/holdfast/run-counts', isRun).value.value
  const agents = useResource<{ id: string; name: string }[]>('/v1/agents?limit=200', ({ kind }) => kind === 'agent')
    .value.value
  const older = useOlder<RunOverview>(path, PAGE)
  const rows = older.after(list.value ?? [])
  const choose = (key: string, value: string) => {
    const next = new URLSearchParams(route.value.query)
    if (value) next.set(key, value)
    else next.delete(key)
    goTo('runs', undefined, Object.fromEntries(next))
  }
  return html`
    <h1>Runs</h1>
    <div class="bar" role="group" aria-label="State">
      ${Object.entries(STATES).map(
        ([key, label]) => html`
        <button class=${key === state ? 'primary' : ''} aria-pressed=${key === state} onClick=${() => choose('state', key)}>
          ${label}${countText(counts, key)}
        </button>`,
      )}
    </div>
    <div class="bar">
      <label>Agent
        <select value=${agent} onChange=${(event: Event) => choose('agent', (event.target as HTMLSelectElement).value)}>
          <option value="">All</option>
          ${(agents ?? []).map(({ id, name }) => html`<option value=${id} key=${id}>${shortName(name)}</option>`)}
        </select>
      </label>
      <label class="grow">Search
        <input type="search" placeholder="Words of the message" value=${words} onChange=${(event: Event) => choose('words', (event.target as HTMLInputElement).value.trim())} />
      </label>
    </div>
    <${ListState} resource=${list} empty=${state || agent || words ? 'No runs like this.' : 'No runs yet.'} />
    ${rows.length > 0 && html`<${RunTable} runs=${rows} />`}
    <${Fault} failure=${older.failure} />
    ${older.hasMore(rows) && html`<button onClick=${() => older.load(rows)}>Show older runs</button>`}
  `
}

function countText(counts: Counts | undefined, state: string): string {
  const count = counts?.[state as keyof Counts]
  return count ? ` ${count}` : ''
}

export function RunTable({ runs }: { runs: readonly RunOverview[] }) {
  return html`
    <table class="wide">
      <thead><tr><th>State</th><th>Agent</th><th>Message</th><th>Age</th><th class="number">Cost</th></tr></thead>
      <tbody>
        ${runs.map(
          (run) => html`
          <tr key=${run.id}>
            <td class=${`state-${run.state}`}>${stateText(run)}<${NextAttempt} run=${run} /></td>
            <td>${shortName(run.agent_name)}</td>
            <td><a href=${hrefOf('runs', run.id)}>${visible(run.first_words || run.id)}</a>${run.error && html`<br /><small>${visible(run.error)}</small>`}</td>
            <td title=${clockTime(run.created_at)} class="age">${ageOf(run.created_at)}</td>
            <td class="number">${costText(run.cost_usd)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  `
}

function NextAttempt({ run: { state, retry_at: retryAt } }: { run: RunOverview }) {
  if (state !== 'running' || retryAt === null) return null
  const left = Date.parse(retryAt) - now.value
  return left > 0 ? html`<br /><small>next in ${duration(Math.max(1_000, left))}</small>` : null
}

/** The stop reason says more than `completed`, unless the turn ended as usual or an error says still more. */
export function stateText({
  state,
  stop_reason: reason,
  error,
  silent,
  deaths,
  retry_at: retryAt,
}: RunOverview): string {
  const why = reason && !error && !['end_turn', 'requires_approval', 'cancelled'].includes(reason) ? ` (${reason})` : ''
  const shown = state === 'created' ? 'queued' : state === 'running' && retryAt ? 'retrying' : state
  return `${shown}${why}${silent ? ', silent' : ''}${deaths > 0 ? `, ${deaths} ${deaths === 1 ? 'death' : 'deaths'}` : ''}`
}
