import { html } from '../html.ts'
import { shortName, visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useOlder } from '../parts/older.ts'
import { useResource } from '../resource.ts'
import { hrefOf } from '../route.ts'
import { CreateSchedule } from '../schedules/create.ts'
import { type Schedule, timingText, titleOf } from '../schedules/schedule.ts'
import { may } from '../session.ts'
import { clockTime, duration, now } from '../times.ts'

const PAGE = 100
const PATH = `/v1/schedules?order=desc&limit=${PAGE}`

export function SchedulesScreen() {
  const list = useResource<Schedule[]>(PATH, ({ kind }) => kind === 'schedule').value
  const agents = useResource<{ id: string; name: string }[]>('/v1/agents?limit=200', ({ kind }) => kind === 'agent')
    .value.value
  const older = useOlder<Schedule>(PATH, PAGE)
  const shown = older.after(list.value ?? [])
  const nameOf = (id: string) => agents?.find((agent) => agent.id === id)?.name ?? id

  return html`
    <h1>Schedules</h1>
    <p class="hint">Messages that are sent to agents at times. Each opens an ordinary run.</p>
    ${may('agent') && html`<${CreateSchedule} />`}
    <${ListState} resource=${list} empty="No schedules yet." />
    ${
      shown.length > 0 &&
      html`
      <table class="wide">
        <thead><tr><th>Schedule</th><th>Agent</th><th>When</th><th>State</th><th>Next</th><th>Last run</th></tr></thead>
        <tbody>${shown.map(
          (one) => html`
          <tr key=${one.id}>
            <td><a href=${hrefOf('schedules', one.id)}>${shortName(titleOf(one))}</a></td>
            <td>${shortName(nameOf(one.agent_id))}</td>
            <td>${visible(timingText(one))}${one.heartbeat && html` <small>heartbeat</small>`}</td>
            <td class=${STATE_CLASS[one.state]}>${one.state}</td>
            <td class="age"><${Next} schedule=${one} /></td>
            <td>${one.last_run_id && html`<a href=${hrefOf('runs', one.last_run_id)}>Run</a>`}</td>
          </tr>`,
        )}</tbody>
      </table>`
    }
    <${Fault} failure=${older.failure} />
    ${older.hasMore(shown) && html`<button onClick=${() => older.load(shown)}>Show older schedules</button>`}
  `
}

export const STATE_CLASS: Record<Schedule['state'], string> = {
  active: 'state-completed',
  paused: 'state-waiting',
  ended: 'age',
}

function Next({ schedule: { next_at: next, state } }: { schedule: Schedule }) {
  if (next === null || state !== 'active') return null
  const left = Date.parse(next) - now.value
  return html`<span title=${clockTime(next)}>${left > 0 ? `in ${duration(left)}` : 'due'}</span>`
}
