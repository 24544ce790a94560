import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { type Failure, request } from '../api.ts'
import { Composer } from '../chat/composer.ts'
import { ConversationList } from '../chat/conversation-list.ts'
import { useFollowEnd } from '../chat/follow-end.ts'
import { useHistory } from '../chat/history.ts'
import { itemsOf } from '../chat/items.ts'
import { LiveTurnView } from '../chat/live-turn.ts'
import { Transcript } from '../chat/transcript.ts'
import { html } from '../html.ts'
import { costText } from '../parts/cost.ts'
import { shortName, visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { goTo, hrefOf } from '../route.ts'
import { RunAgain } from '../run/run-again.ts'
import { may } from '../session.ts'
import { type Approval, Request } from './inbox.ts'

/** `id` is a conversation. */
export function ChatScreen({ id }: { id?: string }) {
  return html`
    <div class="split">
      <${ConversationList} chosen=${id} />
      ${id ? html`<${ConversationView} key=${id} id=${id} />` : html`<section class="pane"><h1>Chat</h1><p class="hint">Conversations with your agents, from every place where they are talked to.</p></section>`}
    </div>
  `
}

type Overview = {
  id: string
  agent_id: string
  agent_name: string
  title: string | null
  first_words: string
  cost_usd: number | null
}

type ListedRun = {
  id: string
  conversation_id: string
  state: string
  first_words: string
  error: string | null
  stop_reason: string | null
  retry_at: string | null
}

function ConversationView({ id }: { id: string }) {
  const isMine = ({ conversation_id: conversation }: { conversation_id?: string }) => conversation === id
  const overview = useResource<Overview>(`/v1/holdfast/conversations/${id}`, isMine).value
  const runs = useResource<ListedRun[]>(`/v1/holdfast/runs?conversation_id=${id}&limit=20`, isMine).value
  const history = useHistory(id)
  const approvals = useResource<Approval[]>('/v1/approvals', ({ kind }) => kind === 'run').value
  const failure = useSignal<Failure | undefined>(undefined)

  const running = runs.value?.find(({ state }) => state === 'running')
  const queued = (runs.value ?? []).filter(({ state }) => state === 'created').toReversed()
  const last = runs.value?.[0]
  const waiting = approvals.value?.filter(isMine) ?? []
  // What the live view shows is left out of the committed messages until the run is over.
  const committed = useMemo(
    () => itemsOf(history.messages.filter(({ run_id: run }) => run !== running?.id || !running)),
    [history.messages, running?.id],
  )
  const asked = history.messages.filter(
    ({ run_id: run, message_type: type }) => running && run === running.id && type === 'user_message',
  )
  const log = useFollowEnd()
  // A turn that failed before its first answer has committed no message: its words are shown from the run.
  const hasFailed = !running && history.isLoaded && (last?.state === 'failed' || last?.state === 'cancelled')

  async function stop(): Promise<void> {
    const answer = await request('POST', `/v1/conversations/${id}/cancel`, {})
    failure.value = answer.ok ? undefined : answer.failure
  }

  async function fork(messageId: string): Promise<void> {
    const answer = await request<{ id: string }>('POST', `/v1/conversations/${id}/fork?message_id=${messageId}`, {})
    if (answer.ok) goTo('chat', answer.value.id)
    else failure.value = answer.failure
  }

  if (overview.failure?.status === 404)
    return html`<section class="pane"><h1>Chat</h1><p class="empty">This conversation does not exist any more.</p></section>`
  const blocked = !may('agent')
    ? 'Your key may read only.'
    : waiting.length > 0
      ? 'The turn waits for a decision. Messages are taken again after it.'
      : undefined

  return html`
    <section class="pane chat" aria-label="Conversation">
      <div class="pane-head">
        <h1>${shortName(overview.value?.title || overview.value?.first_words || running?.first_words || 'New conversation')}</h1>
        ${overview.value && html`<span>with <a href=${hrefOf('agents', overview.value.agent_id)}>${shortName(overview.value.agent_name)}</a></span>`}
        ${overview.value?.cost_usd !== undefined && html`<span class="age">${costText(overview.value.cost_usd)}</span>`}
        ${running && html`<a href=${hrefOf('runs', running.id)}>This run</a>`}
      </div>
      <div class="log" role="log" aria-live="polite" tabindex="0" ref=${log}>
        <div class="log-content">
        ${history.hasMore && html`<button class="quiet" onClick=${history.loadEarlier}>Show earlier messages</button>`}
        <${Fault} failure=${history.failure} />
        ${history.isLoaded && committed.length === 0 && !running && html`<p class="empty">No messages yet. Write the first one below.</p>`}
        <${Transcript} items=${committed} onFork=${may('agent') ? fork : undefined} />
        ${
          running &&
          html`<${Transcript} items=${asked.length > 0 ? itemsOf(asked) : promptOf(running)} /><${LiveTurnView} key=${running.id} runId=${running.id} retryAt=${running.retry_at} onDone=${() => {
            history.reload()
            runs.reload()
          }} />`
        }
        ${waiting.map(
          (approval) =>
            html`<ul class="cards"><${Request} key=${approval.run_id} approval=${approval} agentName=${overview.value?.agent_name ?? 'The agent'} isChosen=${false} onGone=${() => {
              approvals.reload()
              runs.reload()
            }} /></ul>`,
        )}
        ${hasFailed && !history.messages.some(({ run_id: run }) => run === last.id) && html`<${Transcript} items=${promptOf(last)} />`}
        ${hasFailed && html`<${LastEnd} run=${last} onSent=${runs.reload} />`}
        ${queued.map((run) => html`<p class="queued" key=${run.id}>Queued: ${visible(run.first_words)}</p>`)}
        </div>
      </div>
      <${Fault} failure=${failure.value} />
      <${Composer} conversation=${id} isBusy=${running !== undefined} blocked=${blocked} onSent=${runs.reload} onStop=${stop} />
    </section>
  `
}

const promptOf = (run: ListedRun) =>
  run.first_words === '' ? [] : [{ type: 'user' as const, key: `${run.id}/words`, text: run.first_words, images: [] }]

function LastEnd({ run, onSent }: { run: ListedRun; onSent(): void }) {
  const text =
    run.state === 'cancelled'
      ? 'The last turn was stopped.'
      : `The last turn failed: ${run.error ?? run.stop_reason ?? ''}`
  return html`<div><p class=${run.state === 'failed' ? 'fault' : 'note'}>${visible(text)} <a href=${hrefOf('runs', run.id)}>See why</a></p>
    <${RunAgain} run=${run} onSent=${onSent} /></div>`
}
