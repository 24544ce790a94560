import { signal, useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { AuthorizationPart } from '../mcp/authorization.ts'
import { ChangedTools } from '../mcp/changed-tools.ts'
import { addressOf, concernsMcp, type McpServer, STATES } from '../mcp/server.ts'
import { visible } from '../parts/markup.ts'
import { Fault, ListState } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { goTo, hrefOf } from '../route.ts'
import { may } from '../session.ts'
import { ageOf } from '../times.ts'
import type { AgentTool } from './agent.ts'

/** What became of the server that was removed last; the list says it. */
export const removed = signal<string | undefined>(undefined)

export function McpServerScreen({ id }: { id: string }) {
  const path = `/v1/mcp-servers/${id}`
  const resource = useResource<McpServer>(path, ({ id: changed }) => changed === id).value
  const tools = useResource<AgentTool[]>(`${path}/tools`, concernsMcp).value
  const server = resource.value
  // It was removed, here or elsewhere.
  if (!server || resource.failure)
    return html`<h1>MCP server</h1>${resource.failure ? html`<${Fault} failure=${resource.failure} /><a href=${hrefOf('mcp')}>All MCP servers</a>` : html`<p class="empty" role="status">Loading …</p>`}`
  const { connection, authorization } = server
  return html`
    <h1>${visible(server.server_name)}</h1>
    <div class="facts">
      <strong class=${STATES[connection.state].className}>${STATES[connection.state].text}</strong>
      <span>${visible(addressOf(server))}</span>
      ${connection.checked_at && html`<span>asked ${ageOf(connection.checked_at)}</span>`}
      <span>a call may take ${server.timeout_seconds} s</span>
      ${server.egress && html`<span>reaches ${visible(server.egress.join(', ') || 'no network')}</span>`}
      ${server.auth_token && html`<span>token ${visible(server.auth_token)}</span>`}
    </div>
    ${connection.detail && html`<p class="note">${visible(connection.detail)}</p>`}
    ${may('admin') && html`<${Actions} server=${server} />`}
    ${authorization && html`<${AuthorizationPart} id=${id} authorization=${authorization} />`}
    <${ChangedTools} id=${id} />
    <h2>Tools</h2>
    <${ListState} resource=${tools} empty="Its tools have not been read." />
    <ul class="cards">${(tools.value ?? []).map(
      (tool) => html`
      <li class="card" key=${tool.id}><details>
        <summary><code>${visible(tool.name)}</code> <span class="hint">${visible((tool.description ?? '').slice(0, 120))}</span></summary>
        <p>${visible(tool.description ?? 'No description.')}</p>
        <pre class="plain" tabindex="0">${visible(JSON.stringify(tool.json_schema?.parameters?.properties ?? {}, undefined, 2))}</pre>
      </details></li>`,
    )}</ul>
  `
}

type Refreshed = { added: string[]; updated: string[]; waiting_for_approval: string[]; deleted: string[] }

function Actions({ server: { id, server_name: name, authorization } }: { server: McpServer }) {
  const isAuthorized = authorization?.state === 'authorized'
  const failure = useSignal<Failure | undefined>(undefined)
  const outcome = useSignal('')
  const isBusy = useSignal(false)
  const asks = useSignal(false)

  async function act<T>(method: 'PATCH' | 'DELETE', path: string): Promise<T | undefined> {
    isBusy.value = true
    const answer = await request<T>(method, path)
    isBusy.value = false
    failure.value = answer.ok ? undefined : answer.failure
    return answer.ok ? answer.value : undefined
  }

  async function refresh(): Promise<void> {
    outcome.value = ''
    const read = await act<Refreshed>('PATCH', `/v1/mcp-servers/${id}/refresh`)
    if (read) outcome.value = refreshedText(read)
  }

  async function remove(): Promise<void> {
    // The answer to this says what became of its tokens; that of a deletion has no body.
    const ended = isAuthorized ? await act<McpServer>('DELETE', `/v1/mcp-servers/${id}/connect`) : undefined
    if (failure.value) return
    await act('DELETE', `/v1/mcp-servers/${id}`)
    if (failure.value) return
    removed.value = `Removed ${name}. ${ended?.connection.detail ?? ''}`.trimEnd()
    goTo('mcp')
  }

  return html`
    <div class="bar">
      <button disabled=${isBusy.value} onClick=${refresh}>Read its tools again</button>
      ${
        asks.value
          ? html`<span>Remove it with its tools and secrets?</span><button class="stop" disabled=${isBusy.value} onClick=${remove}>Remove it</button><button class="quiet" onClick=${() => {
              asks.value = false
            }}>Keep it</button>`
          : html`<button class="quiet" onClick=${() => {
              asks.value = true
            }}>Remove</button>`
      }
      <span role="status">${isBusy.value ? 'Asking …' : visible(outcome.value)}</span>
    </div>
    <${Fault} failure=${failure.value} />
  `
}

function refreshedText({ added, updated, waiting_for_approval: waiting, deleted }: Refreshed): string {
  const parts = Object.entries({ new: added, changed: updated, 'to approve': waiting, gone: deleted })
  const said = parts.flatMap(([word, names]) => (names.length > 0 ? [`${names.length} ${word}`] : []))
  return said.length > 0 ? `${said.join(', ')}.` : 'Nothing has changed.'
}
