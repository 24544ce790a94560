import { useSignal } from '@preact/signals'
import { defined } from '../../src/core/defined.ts'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { shortName } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { goTo } from '../route.ts'
import type { Schedule } from './schedule.ts'

const TIMINGS = { cron: 'At times (cron)', every: 'At an interval', at: 'Once' }

type Timing = keyof typeof TIMINGS

/** The zone of the person who creates it; the server refuses one that it does not know. */
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

export function CreateSchedule() {
  const failure = useSignal<Failure | undefined>(undefined)
  const timing = useSignal<Timing>('cron')
  const agents =
    useResource<{ id: string; name: string }[]>('/v1/agents?limit=200', ({ kind }) => kind === 'agent').value.value ??
    []

  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const field = (name: string) => (form.get(name) as string | null)?.trim() || undefined
    const at = field('at')
    const minutes = field('minutes')
    const body = defined({
      agent_id: field('agent'),
      name: field('schedule-name'),
      content: field('words'),
      cron: field('cron'),
      timezone: field('timezone'),
      every_seconds: minutes === undefined ? undefined : Number(minutes) * 60,
      at: at === undefined ? undefined : new Date(at).toISOString(),
      heartbeat: field('heartbeat') ? {} : undefined,
    })
    const answer = await request<Schedule>('POST', '/v1/schedules', body)
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) goTo('schedules', answer.value.id)
  }

  return html`
    <details class="card"><summary>Create a schedule</summary>
      <form class="form" onSubmit=${create}>
        <label for="agent">Agent</label>
        <select id="agent" name="agent" required>${agents.map(({ id, name }) => html`<option value=${id} key=${id}>${shortName(name)}</option>`)}</select>
        <label for="schedule-name">Name</label><input id="schedule-name" name="schedule-name" maxlength="200" placeholder="For people; may be empty" />
        <label for="words">Message to the agent</label><textarea id="words" name="words" rows="3" required></textarea>
        <label for="timing">When</label>
        <select id="timing" value=${timing.value} onChange=${(event: Event) => {
          timing.value = (event.target as HTMLSelectElement).value as Timing
        }}>${Object.entries(TIMINGS).map(([key, title]) => html`<option value=${key} key=${key}>${title}</option>`)}</select>
        <${TimingFields} timing=${timing.value} />
        ${timing.value !== 'at' && html`<label for="heartbeat">Heartbeat</label><span><input id="heartbeat" name="heartbeat" type="checkbox" value="yes" /> The agent may say nothing, and is left alone while a person talks</span>`}
        <p class="hint">Calls that need approval are denied in its runs, because no person waits for them. The command line has more settings.</p>
        <div class="bar"><button class="primary">Create</button></div>
        <${Fault} failure=${failure.value} />
      </form>
    </details>
  `
}

function TimingFields({ timing }: { timing: Timing }) {
  switch (timing) {
    case 'cron':
      return html`
        <label for="cron">Cron expression</label><input id="cron" name="cron" required placeholder="0 18 * * mon-fri: minute, hour, day, month, weekday" />
        <label for="timezone">Time zone</label><input id="timezone" name="timezone" value=${ZONE} />`
    case 'every':
      return html`<label for="minutes">Minutes between two</label><input id="minutes" name="minutes" type="number" min="1" step="any" required />`
    case 'at':
      return html`<label for="at">Time, in ${ZONE}</label><input id="at" name="at" type="datetime-local" required />`
  }
}
