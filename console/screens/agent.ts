import type { ComponentType } from 'preact'
import { MemoryTab } from '../agent/memory.ts'
import { ContextTab } from '../agent/model-context.ts'
import { SettingsTab } from '../agent/settings.ts'
import { ToolsTab } from '../agent/tools.ts'
import { WorkspaceTab } from '../agent/workspace.ts'
import { html } from '../html.ts'
import { shortName, visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { type Resource, useResource } from '../resource.ts'
import { hrefOf, route } from '../route.ts'

export type AgentState = {
  id: string
  name: string
  system: string
  description: string | null
  model: string | null
  fallback: string[]
  model_settings: Record<string, unknown> | null
  tools: AgentTool[]
  blocks: Block[]
  tool_rules: unknown[]
  secrets: { key: string }[] | null
}

export type AgentTool = {
  id: string
  name: string
  description: string | null
  tool_type: string
  source_type: string | null
  source_code: string | null
  json_schema: { parameters?: { properties?: Record<string, unknown> } } | null
  default_requires_approval: boolean | null
}

export type Block = {
  id: string
  label: string
  value: string
  limit: number
  description: string | null
  read_only: boolean
}

export type TabProps = { agent: AgentState; reload(): void }

const TABS: Record<string, { title: string; view: ComponentType<TabProps> }> = {
  context: { title: 'What the model sees', view: ContextTab },
  memory: { title: 'Memory', view: MemoryTab },
  tools: { title: 'Tools', view: ToolsTab },
  settings: { title: 'Model and settings', view: SettingsTab },
  workspace: { title: 'Workspace', view: WorkspaceTab },
}

const PARTS = ['blocks', 'tools', 'secrets'].map((part) => `include=agent.${part}`).join('&')

export function AgentScreen({ id }: { id: string }) {
  const resource: Resource<AgentState> = useResource<AgentState>(
    `/v1/agents/${id}?${PARTS}`,
    (change) => change.kind === 'block' || change.kind === 'tool' || change.id === id,
  ).value
  const name = route.value.query.get('tab') ?? 'context'
  const tab = TABS[name] ?? TABS.context!
  const agent = resource.value
  if (!agent)
    return html`<h1>Agent</h1>${resource.failure ? html`<${Fault} failure=${resource.failure} />` : html`<p class="empty" role="status">Loading …</p>`}`
  return html`
    <h1 title=${visible(agent.name)}>${shortName(agent.name)}</h1>
    <div class="facts">
      <span>${visible(agent.model ?? 'the default model')}</span>
      ${agent.fallback.length > 0 && html`<span>then ${visible(agent.fallback.join(', '))}</span>`}
      <a class="button primary" href=${hrefOf('chat', undefined, { agent: id })}>Talk to it</a>
      <a href=${hrefOf('runs', undefined, { agent: id })}>Its runs</a>
    </div>
    <nav class="tabs" aria-label="Parts of the agent">
      ${Object.entries(TABS).map(
        ([key, { title }]) =>
          html`<a href=${hrefOf('agents', id, { tab: key })} aria-current=${tab.title === title ? 'page' : undefined}>${title}</a>`,
      )}
    </nav>
    <${Fault} failure=${resource.failure} />
    <${tab.view} agent=${agent} reload=${resource.reload} />
  `
}
