import { useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { PlainText } from '../parts/markdown.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import type { Block, TabProps } from '../screens/agent.ts'
import { may } from '../session.ts'
import { clockTime } from '../times.ts'
import { BlockHistory } from './block-history.ts'

export function MemoryTab({ agent, reload }: TabProps) {
  return html`
    <h2>Blocks</h2>
    ${agent.blocks.length === 0 && html`<p class="empty">This agent has no memory blocks.</p>`}
    <div class="columns">${agent.blocks.map((block) => html`<${BlockEditor} key=${block.id} block=${block} reload=${reload} />`)}</div>
    <${Archive} agentId=${agent.id} />
  `
}

/** What is typed stays when the block changes elsewhere: the page shows both. */
function BlockEditor({ block, reload }: { block: Block; reload(): void }) {
  const draft = useSignal<string | undefined>(undefined)
  const before = useSignal<string | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  const base = useSignal(block.value)
  const text = draft.value ?? block.value
  const isChanged = draft.value !== undefined && draft.value !== block.value
  const isOutdated = isChanged && base.value !== block.value

  async function save(value: string): Promise<void> {
    const previous = block.value
    const answer = await request('PATCH', `/v1/blocks/${block.id}`, { value })
    failure.value = answer.ok ? undefined : answer.failure
    if (!answer.ok) return
    before.value = previous
    draft.value = undefined
    reload()
  }

  return html`
    <section class="card" aria-label=${`Block ${block.label}`}>
      <div class="card-head"><h3>${visible(block.label)}</h3><span class="age">${text.length} of ${block.limit} characters</span>${block.read_only && html`<span class="age">read-only for the agent</span>`}</div>
      ${block.description && html`<p class="hint">${visible(block.description)}</p>`}
      <label class="visually-hidden" for=${block.id}>Content of ${block.label}</label>
      <textarea id=${block.id} rows="8" value=${text} readonly=${!may('agent')} onInput=${(event: InputEvent) => {
        if (draft.value === undefined) base.value = block.value
        draft.value = (event.target as HTMLTextAreaElement).value
      }}></textarea>
      ${isOutdated && html`<p class="note">This block was changed elsewhere since you began. It now holds:</p><${PlainText} text=${block.value} />`}
      <${Fault} failure=${failure.value} />
      ${
        may('agent') &&
        html`<div class="bar">
        <button class="primary" disabled=${!isChanged} onClick=${() => save(text)}>Save</button>
        <button disabled=${!isChanged} onClick=${() => {
          draft.value = undefined
        }}>Discard</button>
        ${before.value !== undefined && html`<button class="quiet" onClick=${() => save(before.value!)}>Undo the last change</button>`}
      </div>`
      }
      <${BlockHistory} block=${block} reload=${reload} />
    </section>
  `
}

type Passage = { id: string; text: string; created_at: string; tags: string[] | null }

type Found = { results: { id: string; content: string; timestamp: string; tags: string[] }[] }

/** The archival memory: the newest passages, or those that a search finds. */
function Archive({ agentId }: { agentId: string }) {
  const words = useSignal('')
  const passages = useSignal<Passage[] | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  const path = `/v1/agents/${agentId}/archival-memory`

  async function search(event: Event): Promise<void> {
    event.preventDefault()
    const query = words.value.trim()
    if (query === '') {
      const answer = await request<Passage[]>('GET', `${path}?limit=20&ascending=false`)
      failure.value = answer.ok ? undefined : answer.failure
      if (answer.ok) passages.value = answer.value
      return
    }
    const answer = await request<Found>('GET', `${path}/search?query=${encodeURIComponent(query)}&top_k=20`)
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok)
      passages.value = answer.value.results.map(({ id, content, timestamp, tags }) => ({
        id,
        text: content,
        created_at: timestamp,
        tags,
      }))
  }

  async function remove(id: string): Promise<void> {
    const answer = await request('DELETE', `${path}/${id}`)
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) passages.value = passages.value?.filter((passage) => passage.id !== id)
  }

  return html`
    <h2>Archival memory</h2>
    <form class="bar" onSubmit=${search}>
      <label class="grow"><span class="visually-hidden">Search the archival memory</span>
        <input type="search" placeholder="Words; empty: the newest passages" value=${words.value} onInput=${(
          event: InputEvent,
        ) => {
          words.value = (event.target as HTMLInputElement).value
        }} /></label>
      <button>Search</button>
    </form>
    <${Fault} failure=${failure.value} />
    ${passages.value?.length === 0 && html`<p class="empty">No passages like this.</p>`}
    <ul class="cards">${(passages.value ?? []).map(
      ({ id, text, created_at: date, tags }) => html`
      <li class="card" key=${id}><${PlainText} text=${text} />
        <div class="bar"><span class="age">${clockTime(date)}</span>${tags && tags.length > 0 && html`<span class="age">${visible(tags.join(', '))}</span>`}
        ${may('agent') && html`<button class="quiet small" onClick=${() => remove(id)}>Delete</button>`}</div></li>`,
    )}</ul>
  `
}
