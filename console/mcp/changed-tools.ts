import { useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { LineDiff } from '../parts/line-diff-view.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { may } from '../session.ts'
import { ageOf, clockTime } from '../times.ts'
import { type ChangedTool, concernsMcp } from './server.ts'

/** Definitions that a server changed after they were approved: what changed, and the decision. */
export function ChangedTools({ id }: { id: string }) {
  const changed = useResource<ChangedTool[]>(`/v1/mcp-servers/${id}/changed-tools`, concernsMcp).value
  if (!changed.failure && (changed.value ?? []).length === 0) return null
  return html`
    <h2>Changed definitions</h2>
    <p class="hint">These tools do not run until the change is approved.</p>
    <${Fault} failure=${changed.failure} />
    <ul class="cards">${(changed.value ?? []).map(
      (tool) =>
        html`<${ChangedCard} key=${tool.definition_hash} serverId=${id} tool=${tool} reload=${changed.reload} />`,
    )}</ul>
  `
}

function ChangedCard({ serverId, tool, reload }: { serverId: string; tool: ChangedTool; reload(): void }) {
  const failure = useSignal<Failure | undefined>(undefined)

  async function approve(): Promise<void> {
    const path = `/v1/mcp-servers/${serverId}/tools/${tool.tool_id}/approve`
    // The hash names what this page shows: another change meanwhile is not approved with it.
    const answer = await request('POST', path, { definition_hash: tool.definition_hash })
    failure.value = answer.ok ? undefined : answer.failure
    reload()
  }

  return html`
    <li class="card">
      <h3><code>${visible(tool.name)}</code> <span class="age" title=${clockTime(tool.since)}>${ageOf(tool.since)}</span></h3>
      <${LineDiff} before=${textOf(tool.approved)} after=${textOf(tool.offered)} />
      ${may('admin') && html`<div class="bar"><button onClick=${approve}>Approve the change</button></div>`}
      <${Fault} failure=${failure.value} />
    </li>
  `
}

const textOf = ({ name, description, parameters, effects }: ChangedTool['offered']): string =>
  `${name} (effects: ${effects})\n${description}\n${JSON.stringify(parameters, undefined, 2)}`
