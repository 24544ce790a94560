import { useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { PlainText } from '../parts/markdown.ts'
import { visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { goTo, hrefOf } from '../route.ts'
import { messageText, type Schedule, timingText, titleOf } from '../schedules/schedule.ts'
import { may } from '../session.ts'
import { ageOf, clockTime, duration, now } from '../times.ts'
import { STATE_CLASS } from './schedules.ts'

type Instant = {
  instant: string
  last_instant: string
  count: number
  outcome: 'fired' | 'missed' | 'skipped' | 'refused'
  reason: string | null
  run_id: string | null
  late_seconds: number
  manual: boolean
}

export function ScheduleScreen({ id }: { id: string }) {
  const path = `/v1/schedules/${id}`
  const isMine = (change: { id: string }) => change.id === id
  const resource = useResource<Schedule>(path, isMine).value
  const upcoming = useResource<{ instant: string; quiet: boolean }[]>(`${path}/upcoming`, isMine).value
  const history = useResource<Instant[]>(`${path}/history?limit=50`, isMine).value
  const schedule = resource.value
  // It was deleted, here or elsewhere.
  if (!schedule || resource.failure)
    return html`<h1>Schedule</h1>${resource.failure ? html`<${Fault} failure=${resource.failure} /><a href=${hrefOf('schedules')}>All schedules</a>` : html`<p class="empty" role="status">Loading …</p>`}`
  return html`
    <h1>${visible(titleOf(schedule))}</h1>
    <div class="facts">
      <strong class=${STATE_CLASS[schedule.state]}>${schedule.state}</strong>
      <span>${visible(timingText(schedule))}</span>
      <a href=${hrefOf('agents', schedule.agent_id)}>Agent</a>
      ${schedule.conversation_id && html`<a href=${hrefOf('chat', schedule.conversation_id)}>Conversation</a>`}
      ${schedule.quiet_hours && html`<span>quiet from ${schedule.quiet_hours.from} to ${schedule.quiet_hours.to} (${schedule.quiet_hours.timezone})</span>`}
      ${schedule.ends_at && html`<span>until ${clockTime(schedule.ends_at)}</span>`}
    </div>
    <${Actions} schedule=${schedule} />
    <h2>Message</h2>
    <${PlainText} text=${messageText(schedule)} />
    <p class="hint">An instant may fire up to ${duration(schedule.grace_seconds * 1_000)} late. ${schedule.coalesce ? 'Of several that are due, the last one fires.' : 'Each of several that are due fires.'}${' '}
      Calls that need approval ${schedule.on_guarded === 'ask' ? 'wait for a person' : 'are denied'}.${schedule.model ? ` Model: ${visible(schedule.model)}.` : ''}</p>
    ${schedule.heartbeat && html`<${HeartbeatNote} heartbeat=${schedule.heartbeat} />`}
    <h2>Next</h2>
    <${Fault} failure=${upcoming.failure} />
    ${schedule.state === 'paused' && html`<p class="note">It is paused: instants until it is resumed are skipped.</p>`}
    ${upcoming.value?.length === 0 && html`<p class="empty">No instant is left.</p>`}
    <ul class="plain-list">${(upcoming.value ?? []).map(({ instant, quiet }) => {
      const left = Date.parse(instant) - now.value
      return html`<li key=${instant}>${clockTime(instant)} <span class="age">${left > 0 ? `in ${duration(left)}` : 'due'}${quiet ? ', in quiet hours: skipped' : ''}</span></li>`
    })}</ul>
    <h2>What became of its instants</h2>
    <${ListState} resource=${history} empty="No instant has come yet." />
    ${history.value && history.value.length > 0 && html`<${History} instants=${history.value} />`}
  `
}

function HeartbeatNote({ heartbeat }: { heartbeat: NonNullable<Schedule['heartbeat']> }) {
  const { silence, rest_seconds: rest, turns_per_day: turns, dollars_per_day: dollars } = heartbeat
  return html`<p class="hint">A heartbeat: the answer ${visible(silence)} is silence, which no chat receives.
    It rests ${duration(rest * 1_000)} after a turn of a person, and fires at most ${turns} runs${dollars === null ? '' : ` for $${dollars}`} a day.</p>`
}

function Actions({ schedule: { id, state } }: { schedule: Schedule }) {
  const failure = useSignal<Failure | undefined>(undefined)
  const fired = useSignal<string | undefined>(undefined)
  const asks = useSignal(false)
  if (!may('agent')) return null

  async function post<T>(verb: 'pause' | 'resume' | 'run'): Promise<T | undefined> {
    const answer = await request<T>('POST', `/v1/schedules/${id}/${verb}`)
    failure.value = answer.ok ? undefined : answer.failure
    return answer.ok ? answer.value : undefined
  }

  async function remove(): Promise<void> {
    const answer = await request('DELETE', `/v1/schedules/${id}`)
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) goTo('schedules')
  }

  return html`
    <div class="bar">
      <button onClick=${async () => {
        fired.value = (await post<{ run_id: string }>('run'))?.run_id
      }}>Run now</button>
      ${state === 'active' && html`<button onClick=${() => post('pause')}>Pause</button>`}
      ${state === 'paused' && html`<button onClick=${() => post('resume')}>Resume</button>`}
      ${
        asks.value
          ? html`<span>Delete it with its history? Its runs stay.</span><button class="stop" onClick=${remove}>Delete it</button><button class="quiet" onClick=${() => {
              asks.value = false
            }}>Keep it</button>`
          : html`<button class="quiet" onClick=${() => {
              asks.value = true
            }}>Delete</button>`
      }
      <span role="status">${fired.value && html`It was fired: <a href=${hrefOf('runs', fired.value)}>the run</a>`}</span>
    </div>
    <${Fault} failure=${failure.value} />
  `
}

const OUTCOME_CLASS: Record<Instant['outcome'], string> = {
  fired: 'state-completed',
  missed: 'state-failed',
  skipped: 'age',
  refused: 'state-failed',
}

function History({ instants }: { instants: readonly Instant[] }) {
  return html`
    <table class="wide">
      <thead><tr><th>Instant</th><th>Outcome</th><th>Why</th><th>Run</th></tr></thead>
      <tbody>${instants.map(
        (one) => html`
        <tr key=${`${one.instant} ${one.manual}`}>
          <td title=${ageOf(one.instant)}>${clockTime(one.instant)}${one.count > 1 && html` <small>to ${clockTime(one.last_instant)}, ${one.count} instants</small>`}</td>
          <td class=${OUTCOME_CLASS[one.outcome]}>${one.outcome}${one.manual ? ', run now' : ''}</td>
          <td>${visible(one.reason ?? '')}${one.outcome === 'fired' && one.late_seconds >= 1 ? `${duration(one.late_seconds * 1_000)} late` : ''}</td>
          <td>${one.run_id && html`<a href=${hrefOf('runs', one.run_id)}>Run</a>`}</td>
        </tr>`,
      )}</tbody>
    </table>
  `
}
