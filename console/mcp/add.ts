import { useSignal } from '@preact/signals'
import { defined } from '../../src/core/defined.ts'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { Fault } from '../parts/notice.ts'
import { goTo } from '../route.ts'
import type { McpServer } from './server.ts'

const KINDS = { streamable_http: 'At a URL', sse: 'At a URL, the older transport (SSE)', stdio: 'A program' }

type Kind = keyof typeof KINDS

export function AddMcpServer() {
  const failure = useSignal<Failure | undefined>(undefined)
  const isAdding = useSignal(false)
  const kind = useSignal<Kind>('streamable_http')

  async function add(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const field = (name: string) => (form.get(name) as string | null)?.trim() || undefined
    isAdding.value = true
    const config = kind.value === 'stdio' ? programIn(field) : { server_url: field('url'), auth_token: field('token') }
    const body = {
      server_name: field('server-name'),
      config: { mcp_server_type: kind.value, ...defined(config) },
    }
    const answer = await request<McpServer>('POST', '/v1/mcp-servers', body)
    isAdding.value = false
    failure.value = answer.ok ? undefined : answer.failure
    if (answer.ok) goTo('mcp', answer.value.id)
  }

  return html`
    <details class="card"><summary>Add an MCP server</summary>
      <form class="form" onSubmit=${add}>
        <label for="server-name">Name</label><input id="server-name" name="server-name" required maxlength="200" />
        <label for="kind">It is</label>
        <select id="kind" value=${kind.value} onChange=${(event: Event) => {
          kind.value = (event.target as HTMLSelectElement).value as Kind
        }}>${Object.entries(KINDS).map(([key, title]) => html`<option value=${key} key=${key}>${title}</option>`)}</select>
        <${kind.value === 'stdio' ? ProgramFields : AddressFields} />
        <div class="bar"><button class="primary" disabled=${isAdding.value}>${isAdding.value ? 'Reading its tools …' : 'Add'}</button></div>
        <${Fault} failure=${failure.value} />
      </form>
    </details>
  `
}

const AddressFields = () => html`
  <label for="url">URL</label><input id="url" name="url" type="url" required placeholder="https://mcp.example.com/mcp" />
  <label for="token">Token</label><input id="token" name="token" type="password" autocomplete="off" />
  <p class="hint">Without a token. If the server wants a person to sign in, it says so, and you sign in on its page here.</p>`

const ProgramFields = () => html`
  <label for="command">Command</label><input id="command" name="command" required placeholder="npx" />
  <label for="args">Arguments, one on each line</label><textarea id="args" name="args" rows="3"></textarea>
  <label for="env">Variables, NAME=value on each line</label><textarea id="env" name="env" rows="2" autocomplete="off"></textarea>
  <label for="egress">Domains that it may reach</label><input id="egress" name="egress" placeholder="None. For npx: registry.npmjs.org" />
  <p class="hint">It runs in a sandbox of its own. What you install in <code>programs</code> of the home is <code>/programs</code> there.</p>`

function programIn(field: (name: string) => string | undefined) {
  const lines = (field('env') ?? '').split('\n').filter((line) => line.trim() !== '')
  const egress = field('egress')?.split(/[\s,]+/)
  return {
    command: field('command'),
    args: (field('args') ?? '').split('\n').filter((line) => line !== ''),
    env: lines.length > 0 ? Object.fromEntries(lines.map(variable)) : undefined,
    egress,
  }
}

function variable(line: string): [string, string] {
  const at = line.indexOf('=')
  return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1)]
}
