import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { defined } from '../../src/core/defined.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { askForNotifications, permission } from '../notifications.ts'
import { actorText } from '../parts/actor.ts'
import { CallView } from '../parts/call-view.ts'
import { shortName, visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { hrefOf } from '../route.ts'
import { approvalText } from '../run/timeline.ts'
import { may } from '../session.ts'
import { ageOf, clockTime, duration, now } from '../times.ts'

type PendingCall = { tool_call_id: string; name: string; arguments: string; digest: string }

export type Approval = {
  run_id: string
  agent_id: string
  conversation_id: string
  asked_at: string
  expires_at: string | null
  may_approve: 'any-key' | 'another-key'
  tool_calls: PendingCall[]
}

type AgentName = { id: string; name: string }

/** What waits for a person, over all agents. */
export function InboxScreen() {
  const approvals = useResource<Approval[]>('/v1/approvals', ({ kind }) => kind === 'run').value
  const known = useResource<AgentName[]>('/v1/agents?limit=200', ({ kind }) => kind === 'agent').value.value
  const agents = known ?? []
  const chosen = useSignal<ReadonlySet<string>>(new Set())
  const gone = useSignal<string | undefined>(undefined)
  const waiting = approvals.value ?? []
  useDecidedElsewhere(approvals.value, (approval, text) => {
    gone.value = `${shortName(nameOf(approval, agents))}: ${text}`
  })

  const toggle = (runId: string) => {
    const next = new Set(chosen.value)
    if (!next.delete(runId)) next.add(runId)
    chosen.value = next
  }
  const selected = waiting.filter(({ run_id: runId }) => chosen.value.has(runId))

  async function decideAll(verdict: 'approve' | 'deny'): Promise<void> {
    for (const approval of selected) {
      const failure = await decide(approval, verdict)
      if (failure) gone.value = `${shortName(nameOf(approval, agents))}: ${failure.detail}`
    }
    chosen.value = new Set()
    approvals.reload()
  }

  return html`
    <h1>Inbox</h1>
    <p class="hint">Tool calls that wait for a decision, over all agents. Each also appears in the chat of its conversation.</p>
    ${permission.value === 'default' && html`<div class="bar"><button onClick=${askForNotifications}>Notify me when something waits</button></div>`}
    ${
      selected.length > 1 &&
      may('approve') &&
      html`
      <div class="bar" role="group" aria-label="Selected requests">
        <span>${selected.length} selected</span>
        <button class="primary" onClick=${() => decideAll('approve')}>Approve ${selected.length}</button>
        <button onClick=${() => decideAll('deny')}>Deny ${selected.length}</button>
      </div>`
    }
    <p role="status" class=${gone.value ? 'note' : ''}>${visible(gone.value ?? '')}</p>
    <${ListState} resource=${approvals} empty="Nothing waits for you." />
    ${known?.length === 0 && may('agent') && html`<p>There is no agent yet. <a href=${hrefOf('agents')}>Create the first one</a>, then talk to it under Chat.</p>`}
    <ol class="cards" aria-label="Requests">
      ${waiting.map(
        (approval) => html`
        <${Request}
          key=${approval.run_id}
          approval=${approval}
          agentName=${nameOf(approval, agents)}
          isChosen=${chosen.value.has(approval.run_id)}
          onChoose=${waiting.length > 1 ? () => toggle(approval.run_id) : undefined}
          onGone=${(text: string) => {
            gone.value = text
            approvals.reload()
          }}
        />`,
      )}
    </ol>
  `
}

const nameOf = ({ agent_id: id }: Approval, agents: readonly AgentName[]): string =>
  agents.find((agent) => agent.id === id)?.name ?? id

type RequestProps = {
  approval: Approval
  agentName: string
  isChosen: boolean
  onChoose?: () => void
  /** The request is decided: here, elsewhere, or it expired. */
  onGone(text: string): void
}

export function Request({ approval, agentName, isChosen, onChoose, onGone }: RequestProps) {
  const reason = useSignal('')
  const busy = useSignal<string | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  const { run_id: runId, tool_calls: calls, conversation_id: conversation } = approval

  async function onDecide(verdict: 'approve' | 'deny'): Promise<void> {
    busy.value = verdict
    const fault = await decide(approval, verdict, reason.value)
    busy.value = undefined
    failure.value = fault
    // The server said what became of it: what the page shows is what is committed.
    if (!fault) onGone(`${shortName(agentName)}: ${verdict === 'approve' ? 'approved' : 'denied'}.`)
    else if (fault.status === 409 || fault.status === 404) onGone(`${shortName(agentName)}: ${fault.detail}`)
  }

  return html`
    <li class="card">
      <div class="card-head">
        ${onChoose && html`<input type="checkbox" checked=${isChosen} onChange=${onChoose} aria-label=${`Select the request of ${shortName(agentName)}`} />`}
        <h2><a href=${hrefOf('chat', conversation)}>${shortName(agentName)}</a> asks for ${calls.length === 1 ? 'one call' : `${calls.length} calls`}</h2>
        <span class="age" title=${clockTime(approval.asked_at)}>${ageOf(approval.asked_at)}</span>
        <${TimeLeft} until=${approval.expires_at} />
      </div>
      ${calls.map(
        (call) => html`
        <section class="call" aria-label=${`Call of ${call.name}`}>
          <h3><code>${visible(call.name)}</code> <small title="Hash of the tool and its arguments: exactly this is approved">${call.digest.slice(0, 12)}</small></h3>
          <${CallView} name=${call.name} args=${call.arguments} />
        </section>`,
      )}
      ${
        may('approve')
          ? html`
        <div class="bar">
          <button class="primary" disabled=${busy.value !== undefined} onClick=${() => onDecide('approve')}>Approve</button>
          <button disabled=${busy.value !== undefined} onClick=${() => onDecide('deny')}>Deny</button>
          <label class="grow"><span class="visually-hidden">Reason for a denial</span>
            <input placeholder="Reason for a denial; the model reads it" value=${reason.value} onInput=${(
              event: InputEvent,
            ) => {
              reason.value = (event.target as HTMLInputElement).value
            }} /></label>
          <a href=${hrefOf('runs', runId)}>Run</a>
        </div>
        <p class="age who">${MAY_APPROVE[approval.may_approve]}</p>`
          : html`<p class="hint">Your key may not decide this. It needs the scope "approve".</p>`
      }
      <${Fault} failure=${failure.value} />
    </li>
  `
}

const MAY_APPROVE: Record<Approval['may_approve'], string> = {
  'any-key': 'Any key with the scope approve may decide.',
  'another-key': 'A key other than the one that sent the message may approve; any key with the scope approve may deny.',
}

/** Tells of requests that vanish without a decision on this page: by whom and how they were decided. */
function useDecidedElsewhere(
  waiting: readonly Approval[] | undefined,
  tell: (approval: Approval, text: string) => void,
): void {
  const before = useRef<readonly Approval[]>([])
  useEffect(() => {
    if (!waiting) return
    const present = new Set(waiting.map(({ run_id: id }) => id))
    for (const approval of before.current)
      if (!present.has(approval.run_id) && !decidedHere.has(approval.run_id))
        void outcomeOf(approval).then((text) => text && tell(approval, text))
    before.current = waiting
  }, [waiting])
}

async function outcomeOf({ run_id: runId }: Approval): Promise<string | undefined> {
  const answer = await request<{ event: TurnEvent }[]>('GET', `/v1/runs/${runId}/events`)
  if (!answer.ok) return undefined
  for (const { event } of answer.value.toReversed()) {
    if (event.type === 'approval-answered')
      return `${approvalText(event)} elsewhere${event.by ? `, with ${actorText(event.by.actor)}` : ''}.`
    if (event.type === 'cancel-requested')
      return event.cause === 'expiry' ? 'it expired, and its calls were denied.' : 'its run was cancelled.'
  }
  return undefined
}

function TimeLeft({ until }: { until: string | null }) {
  if (until === null) return html`<span class="age">no end</span>`
  const left = Date.parse(until) - now.value
  return html`<span class=${left < 3_600_000 ? 'age urgent' : 'age'} title=${clockTime(until)}>${left > 0 ? `${duration(left)} left` : 'expiring'}</span>`
}

/** What this page decided itself: the rest that vanishes was decided elsewhere. */
const decidedHere = new Set<string>()

/** Undefined: committed. */
async function decide(
  { run_id: runId, tool_calls: calls }: Approval,
  verdict: 'approve' | 'deny',
  reason = '',
): Promise<Failure | undefined> {
  const approvals = calls.map(({ tool_call_id, digest }) =>
    verdict === 'approve'
      ? { tool_call_id, verdict, digest }
      : { tool_call_id, verdict, ...defined({ reason: reason.trim() || undefined }) },
  )
  decidedHere.add(runId)
  const answer = await request('POST', `/v1/approvals/${runId}`, { approvals })
  if (!answer.ok && answer.failure.status !== 409) decidedHere.delete(runId)
  return answer.ok ? undefined : answer.failure
}
