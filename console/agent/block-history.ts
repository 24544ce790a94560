import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { actorText } from '../parts/actor.ts'
import { LineDiff } from '../parts/line-diff-view.ts'
import { visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { hrefOf } from '../route.ts'
import type { Block } from '../screens/agent.ts'
import { may } from '../session.ts'
import { ageOf, clockTime } from '../times.ts'

type Author =
  | { type: 'key'; actor: string; key_name: string | null; user_id: string | null }
  | { type: 'agent'; agent_id: string; run_id: string }

type Version = {
  version: number
  is_present: boolean
  characters: number
  written_at: string
  written_by: Author | null
}

/** Read when it is opened, and again with each change of the block. */
export function BlockHistory({ block, reload }: { block: Block; reload(): void }) {
  const isOpen = useSignal(false)
  return html`
    <details class="history" onToggle=${(event: Event) => {
      isOpen.value = (event.target as HTMLDetailsElement).open
    }}>
      <summary>History</summary>
      ${isOpen.value && html`<${Versions} block=${block} reload=${reload} />`}
    </details>
  `
}

function Versions({ block, reload }: { block: Block; reload(): void }) {
  const resource = useResource<Version[]>(`/v1/blocks/${block.id}/versions`, ({ id }) => id === block.id).value
  const chosen = useSignal<number | undefined>(undefined)
  const versions = resource.value ?? []
  const index = versions.findIndex(({ version }) => version === chosen.value)
  const before = index < 0 ? undefined : versions[index + 1]
  return html`
    <${ListState} resource=${resource} empty="Nothing is kept of this block." />
    ${versions.length === 1 && html`<p class="hint">This value has not been changed.</p>`}
    <ol class="versions">${versions.map(
      (one) => html`
      <li key=${one.version}>
        <button class="quiet small" aria-expanded=${chosen.value === one.version} onClick=${() => {
          chosen.value = chosen.value === one.version ? undefined : one.version
        }}>Version ${one.version}</button>
        <span class="age" title=${clockTime(one.written_at)}>${ageOf(one.written_at)}</span>
        <span><${By} author=${one.written_by} /></span>
        ${one.is_present && html`<span class="age">present</span>`}
      </li>`,
    )}</ol>
    ${
      index >= 0 &&
      html`<${ShownVersion} key=${chosen.value} block=${block} version=${versions[index]} before=${before?.version} onRestored=${reload} />`
    }
  `
}

function By({ author }: { author: Author | null }) {
  if (!author) return html`<span class="age">author not recorded</span>`
  if (author.type === 'agent') return html`<a href=${hrefOf('runs', author.run_id)}>the agent, in a run</a>`
  return visible(actorText(author.actor, author.key_name))
}

type ShownProps = { block: Block; version: Version; before: number | undefined; onRestored(): void }

/** What this version changed, and a way back to it. */
function ShownVersion({ block, version: { version, is_present: isPresent }, before, onRestored }: ShownProps) {
  const texts = useSignal<{ old: string | undefined; now: string } | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  const path = `/v1/blocks/${block.id}/versions`
  useEffect(() => {
    const stop = new AbortController()
    const read = (one: number) => request<{ value: string }>('GET', `${path}/${one}`, undefined, stop.signal)
    void (async () => {
      const [now, old] = await Promise.all([read(version), before === undefined ? undefined : read(before)])
      if (stop.signal.aborted) return
      const refused = now.ok ? (old?.ok === false ? old.failure : undefined) : now.failure
      failure.value = refused
      if (now.ok) texts.value = { old: old?.ok ? old.value.value : undefined, now: now.value.value }
    })()
    return () => stop.abort()
  }, [path, version, before])

  async function restore(): Promise<void> {
    const answer = await request('POST', `${path}/${version}/restore`)
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) onRestored()
  }

  const { value } = texts
  return html`
    <section aria-label=${`Version ${version}`}>
      <${Fault} failure=${failure.value} />
      ${!value && !failure.value && html`<p class="empty" role="status">Loading …</p>`}
      ${value && html`<p class="hint">${value.old === undefined ? 'The oldest value that is kept:' : `Changed from version ${before}:`}</p><${LineDiff} before=${value.old ?? ''} after=${value.now} />`}
      ${!isPresent && may('agent') && html`<div class="bar"><button onClick=${restore}>Restore version ${version}</button></div>`}
    </section>
  `
}
