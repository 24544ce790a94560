import { useEffect } from 'preact/hooks'
import { html } from '../html.ts'
import { AddMcpServer } from '../mcp/add.ts'
import { addressOf, type ChangedTool, concernsMcp, type McpServer, STATES } from '../mcp/server.ts'
import { visible } from '../parts/markup.ts'
import { ListState } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { hrefOf } from '../route.ts'
import { may } from '../session.ts'
import { ageOf } from '../times.ts'
import { removed } from './mcp-server.ts'

export function McpServersScreen() {
  const list = useResource<McpServer[]>('/v1/mcp-servers', concernsMcp).value
  const servers = list.value ?? []
  useEffect(
    () => () => {
      removed.value = undefined
    },
    [],
  )
  return html`
    <h1>MCP servers</h1>
    <p class="hint">Programs and services whose tools agents can use.</p>
    <p role="status">${visible(removed.value ?? '')}</p>
    ${may('admin') && html`<${AddMcpServer} />`}
    <${ListState} resource=${list} empty="No MCP servers yet." />
    ${
      servers.length > 0 &&
      html`
      <table class="wide">
        <thead><tr><th>Server</th><th>Address</th><th>State</th><th>Asked</th><th>Changes</th></tr></thead>
        <tbody>${servers.map(
          (one) => html`
          <tr key=${one.id}>
            <td><a href=${hrefOf('mcp', one.id)}>${visible(one.server_name)}</a></td>
            <td>${visible(addressOf(one))}</td>
            <td class=${STATES[one.connection.state].className}>${STATES[one.connection.state].text}</td>
            <td class="age">${one.connection.checked_at && ageOf(one.connection.checked_at)}</td>
            <td><${Waiting} id=${one.id} /></td>
          </tr>`,
        )}</tbody>
      </table>`
    }
  `
}

/** How many changed definitions wait for a person. */
function Waiting({ id }: { id: string }) {
  const count = useResource<ChangedTool[]>(`/v1/mcp-servers/${id}/changed-tools`, concernsMcp).value.value?.length ?? 0
  return count > 0 ? html`<a href=${hrefOf('mcp', id)}>${count} to approve</a>` : null
}
