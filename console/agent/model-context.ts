import { html } from '../html.ts'
import { PlainText } from '../parts/markdown.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import type { TabProps } from '../screens/agent.ts'

type Context = {
  context_window_size_max: number
  context_window_size_current: number
  num_messages: number
  num_archival_memory: number
  num_tokens_system: number
  num_tokens_core_memory: number
  num_tokens_summary_memory: number
  num_tokens_functions_definitions: number
  num_tokens_messages: number
  system_prompt: string
  summary_memory: string | null
  functions_definitions: { function: { name: string; description?: string } }[]
}

/** The parts in the order in which a model reads them. */
const PARTS: [keyof Context, string][] = [
  ['num_tokens_system', 'System prompt'],
  ['num_tokens_core_memory', 'Memory blocks'],
  ['num_tokens_functions_definitions', 'Tools'],
  ['num_tokens_summary_memory', 'Summary of earlier messages'],
  ['num_tokens_messages', 'Messages'],
]

/** The context of the default conversation, and what takes the room in it. */
export function ContextTab({ agent }: TabProps) {
  const context = useResource<Context>(
    `/v1/agents/${agent.id}/context`,
    (change) => change.agent_id === agent.id || change.id === agent.id || change.kind === 'block',
  ).value
  const { value } = context
  if (!value)
    return context.failure
      ? html`<${Fault} failure=${context.failure} />`
      : html`<p class="empty" role="status">Loading …</p>`
  const most = value.context_window_size_max
  const share = (tokens: number) => (100 * tokens) / most
  return html`
    <p>About ${value.context_window_size_current.toLocaleString()} of ${most.toLocaleString()} tokens are in use in the default conversation (${share(value.context_window_size_current).toFixed(1)} %), by ${value.num_messages} ${value.num_messages === 1 ? 'message' : 'messages'}.</p>
    <table>
      <thead><tr><th>Part</th><th class="number">Tokens</th><th>Of the window</th></tr></thead>
      <tbody>${PARTS.map(
        ([field, title]) => html`
        <tr key=${field}><td>${title}</td><td class="number">${Number(value[field]).toLocaleString()}</td>
          <td class="lane"><svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=${`${share(Number(value[field])).toFixed(1)} % of the window`}>
            <rect class="room" x="0" y="1" width="100" height="6" /><rect class="used" x="0" y="1" width=${Math.min(100, share(Number(value[field])))} height="6" /></svg></td></tr>`,
      )}</tbody>
    </table>
    <h2>System prompt, with memory</h2>
    <${PlainText} text=${value.system_prompt} />
    ${value.summary_memory && html`<h2>Summary</h2><${PlainText} text=${value.summary_memory} />`}
    <h2>Tools the model is told of</h2>
    <ul>${value.functions_definitions.map(({ function: { name, description } }) => html`<li key=${name}><code>${visible(name)}</code> ${visible(description ?? '')}</li>`)}</ul>
  `
}
