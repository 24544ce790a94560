import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { visible } from '../parts/markdown.ts'
import { Fault, ListState } from '../parts/notice.ts'
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
  const older = useSignal<Schedule[]>([])
  const failure = useSignal<Failure | undefined>(undefined)
  // The pages behind the first one are of the same moment as it.
  useEffect(() => {
    older.value = []
  }, [list.value])
  const shown = [...(list.value ?? []), ...older.value]
  const nameOf = (id: string) => agents?.find((agent) => agent.id === id)?.name ?? id

  async function showOlder(): Promise<void> {
    const answer = await request<Schedule[]>('GET', `${PATH}&after=${shown.at(-1)!.id}`)
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) older.value = [...older.value, ...answer.value]
  }

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
            <td><a href=${hrefOf('schedules', one.id)}>${visible(titleOf(one))}</a></td>
            <td>${visible(nameOf(one.agent_id))}</td>
            <td>${visible(timingText(one))}</td>
            <td class=${STATE_CLASS[one.state]}>${one.state}</td>
            <td class="age"><${Next} schedule=${one} /></td>
            <td>${one.last_run_id && html`<a href=${hrefOf('runs', one.last_run_id)}>Run</a>`}</td>
          </tr>`,
        )}</tbody>
      </table>`
    }
    <${Fault} failure=${failure.value} />
    ${shown.length > 0 && shown.length % PAGE === 0 && html`<button onClick=${showOlder}>Show older schedules</button>`}
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
