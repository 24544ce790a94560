import { useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { PlainText } from '../parts/markdown.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import type { AgentTool, TabProps } from '../screens/agent.ts'
import { may } from '../session.ts'

export function ToolsTab({ agent, reload }: TabProps) {
  const all = useResource<AgentTool[]>('/v1/tools?limit=500', ({ kind }) => kind === 'tool').value.value ?? []
  const failure = useSignal<Failure | undefined>(undefined)
  const others = all.filter(({ id }) => !agent.tools.some((tool) => tool.id === id))
  async function change(way: 'attach' | 'detach', toolId: string): Promise<void> {
    const answer = await request('PATCH', `/v1/agents/${agent.id}/tools/${way}/${toolId}`, {})
    failure.value = answer.ok ? undefined : answer.failure
    reload()
  }
  return html`
    <h2 class="visually-hidden">Tools of this agent</h2>
    <${Fault} failure=${failure.value} />
    ${
      may('agent') &&
      others.length > 0 &&
      html`<div class="bar"><label>Attach
      <select value="" onChange=${(event: Event) => {
        const { value } = event.target as HTMLSelectElement
        if (value) void change('attach', value)
      }}><option value="">a tool …</option>${others.map(({ id, name }) => html`<option value=${id} key=${id}>${visible(name)}</option>`)}</select></label></div>`
    }
    ${agent.tools.length === 0 && html`<p class="empty">This agent has no tools.</p>`}
    <ul class="cards">${agent.tools.map(
      (tool) =>
        html`<${ToolCard} key=${tool.id} agentId=${agent.id} tool=${tool} reload=${reload} onDetach=${() => change('detach', tool.id)} />`,
    )}</ul>
    <h2>Rules</h2>
    ${(agent.tool_rules ?? []).length === 0 ? html`<p class="hint">No rules: the model chooses freely.</p>` : html`<pre class="plain" tabindex="0">${visible(JSON.stringify(agent.tool_rules, undefined, 2))}</pre>`}
  `
}

type ToolCardProps = { agentId: string; tool: AgentTool; reload(): void; onDetach(): void }

/** `status` and `tool_return` of a run by hand. */
type Outcome = { status: string; func_return?: unknown; tool_return?: unknown; stderr?: string[] | null }

/** Of a long description the line of the tool shows the beginning. */
const SHOWN_DESCRIPTION = 120

function ToolCard({ agentId, tool, reload, onDetach }: ToolCardProps) {
  const args = useSignal('{}')
  const outcome = useSignal<Outcome | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  const isRunning = useSignal(false)

  async function run(): Promise<void> {
    let parsed: unknown
    try {
      parsed = JSON.parse(args.value)
    } catch (fault) {
      failure.value = { status: 0, detail: `The arguments are not JSON: ${(fault as Error).message}` }
      return
    }
    isRunning.value = true
    const answer = await request<Outcome>('POST', `/v1/agents/${agentId}/tools/${encodeURIComponent(tool.name)}/run`, {
      args: parsed,
    })
    isRunning.value = false
    failure.value = answer.ok ? undefined : answer.failure
    outcome.value = answer.ok ? answer.value : undefined
  }

  async function setApproval(needs: boolean): Promise<void> {
    const answer = await request(
      'PATCH',
      `/v1/agents/${agentId}/tools/approval/${encodeURIComponent(tool.name)}?requires_approval=${needs}`,
      {},
    )
    failure.value = answer.ok ? undefined : answer.failure
    reload()
  }

  return html`
    <li class="card">
      <details>
        <summary><code>${visible(tool.name)}</code> <span class="hint">${visible((tool.description ?? '').slice(0, SHOWN_DESCRIPTION))}</span></summary>
        ${(tool.description ?? '').length > SHOWN_DESCRIPTION && html`<p>${visible(tool.description!)}</p>`}
        ${tool.source_code && html`<h3>Source</h3><${PlainText} text=${tool.source_code} />`}
        <h3>Parameters</h3>
        <pre class="plain" tabindex="0">${visible(JSON.stringify(tool.json_schema?.parameters?.properties ?? {}, undefined, 2))}</pre>
        ${
          may('agent') &&
          html`
          <h3>Run it alone</h3>
          <p class="hint">Without a model. What it does is real, and is in the audit log.</p>
          <label for=${`args-${tool.id}`}>Arguments as JSON</label>
          <textarea id=${`args-${tool.id}`} rows="3" value=${args.value} onInput=${(event: InputEvent) => {
            args.value = (event.target as HTMLTextAreaElement).value
          }}></textarea>
          <div class="bar"><button disabled=${isRunning.value} onClick=${run}>${isRunning.value ? 'Running …' : 'Run'}</button>
            <button onClick=${() => setApproval(true)}>Require approval</button><button onClick=${() => setApproval(false)}>No approval</button>
            <button class="quiet" onClick=${onDetach}>Detach</button></div>`
        }
        <${Fault} failure=${failure.value} />
        ${outcome.value && html`<p class=${`state-${outcome.value.status}`}>${outcome.value.status}</p><${PlainText} text=${textOf(outcome.value)} />`}
      </details>
    </li>
  `
}

function textOf({ func_return: value, tool_return: other, stderr }: Outcome): string {
  const result = value ?? other ?? ''
  return [typeof result === 'string' ? result : JSON.stringify(result, undefined, 2), ...(stderr ?? [])].join('\n')
}
