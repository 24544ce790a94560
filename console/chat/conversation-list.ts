import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { shortName, visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useOlder } from '../parts/older.ts'
import { useResource } from '../resource.ts'
import { goTo, hrefOf, route } from '../route.ts'
import { may } from '../session.ts'
import { ageOf } from '../times.ts'

type Agent = { id: string; name: string }

type Listed = {
  id: string
  is_default: boolean
  agent_id: string
  title: string | null
  first_words: string
  archived: boolean
  active_at: string
}

/** The agents, and the conversations of one of them. Without a chosen one, the newest is opened. */
export function ConversationList({ chosen }: { chosen?: string }) {
  const agents = useResource<Agent[]>('/v1/agents?limit=200', ({ kind }) => kind === 'agent').value
  const shown = useResource<{ agent_id: string; agent_name: string }>(
    chosen ? `/v1/holdfast/conversations/${chosen}` : undefined,
    () => false,
  ).value.value
  const opened = useSignal<string | undefined>(undefined)
  /** On a phone, the list hides behind a conversation. */
  const isOpen = useSignal(false)
  const agentId = opened.value ?? route.value.query.get('agent') ?? shown?.agent_id ?? agents.value?.[0]?.id
  // Of very many agents, the list has the newest ones.
  const other = agentId && agents.value && !agents.value.some(({ id }) => id === agentId) ? agentId : undefined
  return html`
    ${
      chosen &&
      html`<button class="only-phone" aria-expanded=${isOpen.value} onClick=${() => {
        isOpen.value = !isOpen.value
      }}>${isOpen.value ? 'Hide the conversations' : 'All conversations'}</button>`
    }
    <nav class=${`pane list ${chosen && !isOpen.value ? 'behind' : ''}`} aria-label="Conversations">
      <div class="pane-head" hidden=${agents.value?.length === 0}>
        <label>Agent
          <select value=${agentId} onChange=${(event: Event) => {
            opened.value = (event.target as HTMLSelectElement).value
          }}>
            ${(agents.value ?? []).map(({ id, name }) => html`<option value=${id} key=${id}>${shortName(name)}</option>`)}
            ${other && html`<option value=${other}>${shortName(shown?.agent_id === other ? shown.agent_name : other)}</option>`}
          </select>
        </label>
      </div>
      <${ListState} resource=${agents} empty="No agents yet." />
      ${agents.value?.length === 0 && html`<p><a href=${hrefOf('agents')}>Create the first one</a>, then talk to it here.</p>`}
      ${agentId && html`<${Conversations} key=${agentId} agentId=${agentId} chosen=${chosen} />`}
    </nav>
  `
}

function Conversations({ agentId, chosen }: { agentId: string; chosen?: string }) {
  const failure = useSignal<Failure | undefined>(undefined)
  const path = `/v1/holdfast/conversations?agent_id=${agentId}&limit=${PAGE}`
  const older = useOlder<Listed>(path, PAGE)
  const list = useResource<Listed[]>(path, (change) =>
    change.kind === 'conversation' || change.kind === 'run' ? change.agent_id === agentId : false,
  ).value

  const shown = older.after(list.value ?? [])
  const newest = list.value?.find(({ archived }) => !archived)?.id
  useEffect(() => {
    // Replaced, so that the way back does not lead here again.
    if (!chosen && newest) location.replace(hrefOf('chat', newest))
  }, [chosen, newest])

  async function begin(): Promise<void> {
    const answer = await request<{ id: string }>('POST', `/v1/conversations?agent_id=${agentId}`, {})
    if (answer.ok) goTo('chat', answer.value.id)
    else failure.value = answer.failure
  }

  return html`
    ${may('agent') && html`<button onClick=${begin}>New conversation</button>`}
    <${Fault} failure=${failure.value} />
    <${ListState} resource=${list} empty="No conversations yet." />
    <ul class="rows">
      ${shown
        .filter(({ archived }) => !archived)
        .map(
          (one) => html`
          <li key=${one.id}>
            <a href=${hrefOf('chat', one.id)} aria-current=${one.id === chosen ? 'true' : undefined}>
              <span class="words">${visible(one.title ?? (one.first_words || (one.is_default ? 'Default conversation' : 'No messages yet')))}</span>
              <span class="age">${ageOf(one.active_at)}</span>
            </a>
          </li>`,
        )}
    </ul>
    <${Fault} failure=${older.failure} />
    ${older.hasMore(shown) && html`<button class="quiet" onClick=${() => older.load(shown)}>Show older conversations</button>`}
  `
}

const PAGE = 50
