import type { ComponentType } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { connection } from './feed.ts'
import { html } from './html.ts'
import { notifyOfWaiting } from './notifications.ts'
import { useResource } from './resource.ts'
import { hrefOf, route } from './route.ts'
import { AgentScreen } from './screens/agent.ts'
import { AgentsScreen } from './screens/agents.ts'
import { ChatScreen } from './screens/chat.ts'
import { HealthScreen } from './screens/health.ts'
import { type Approval, InboxScreen } from './screens/inbox.ts'
import { McpServerScreen } from './screens/mcp-server.ts'
import { McpServersScreen } from './screens/mcp-servers.ts'
import { RunScreen } from './screens/run.ts'
import { RunsScreen } from './screens/runs.ts'
import { ScheduleScreen } from './screens/schedule.ts'
import { SchedulesScreen } from './screens/schedules.ts'
import { SettingsScreen } from './screens/settings.ts'
import { SignInScreen } from './screens/sign-in.ts'
import { newVersion, signedIn, signOut } from './session.ts'
import { duration, now, skew } from './times.ts'

/** `of`: the screen of one of them. */
type Screen = { title: string; list: ComponentType<{ id?: string }>; of?: ComponentType<{ id: string }> }

const SCREENS: Record<string, Screen> = {
  inbox: { title: 'Inbox', list: InboxScreen },
  chat: { title: 'Chat', list: ChatScreen, of: ChatScreen },
  runs: { title: 'Runs', list: RunsScreen, of: RunScreen },
  agents: { title: 'Agents', list: AgentsScreen, of: AgentScreen },
  schedules: { title: 'Schedules', list: SchedulesScreen, of: ScheduleScreen },
  mcp: { title: 'MCP', list: McpServersScreen, of: McpServerScreen },
  health: { title: 'Health', list: HealthScreen },
  settings: { title: 'Settings', list: SettingsScreen },
}

export function Shell() {
  const { value } = signedIn
  if (value.state === 'checking') return html`<p class="starting" role="status">Checking who you are …</p>`
  return html`
    ${value.state === 'signed-out' && html`<${SignInScreen} reason=${value.reason} />`}
    ${(value.state === 'signed-in' || hasBeenIn) && html`<${SignedIn} isCovered=${value.state === 'signed-out'} />`}
  `
}

let hasBeenIn = false

/** Stays mounted, hidden, when the key ends in the middle of an action: what was typed is not lost. */
function SignedIn({ isCovered }: { isCovered: boolean }) {
  hasBeenIn = true
  const waiting = useResource<Approval[]>('/v1/approvals', ({ kind }) => kind === 'run').value.value?.length ?? 0
  const { screen: name, id } = route.value
  const screen = SCREENS[name] ?? SCREENS.inbox!
  const before = useRef(waiting)
  useEffect(() => {
    if (waiting > before.current) notifyOfWaiting(waiting)
    before.current = waiting
  }, [waiting])
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${screen.title} · Holdfast`
  }, [waiting, screen.title])
  const Shown = id !== undefined && screen.of ? screen.of : screen.list
  return html`
    <div class="frame" hidden=${isCovered}>
      <a class="skip" href="#content" onClick=${skipToContent}>Skip to the content</a>
      <header>
        <a class="brand" href=${hrefOf('inbox')}>Holdfast</a>
        <nav aria-label="Screens">
          ${Object.entries(SCREENS).map(
            ([key, { title }]) => html`
              <a href=${hrefOf(key)} aria-current=${name === key ? 'page' : undefined}>
                ${title}${key === 'inbox' && waiting > 0 && html` <span class="count">${waiting}</span>`}
              </a>`,
          )}
        </nav>
        <${ConnectionNote} />
        <button class="quiet" onClick=${signOut}>Sign out</button>
      </header>
      <${Notes} />
      <main id="content" tabindex="-1"><${Shown} key=${`${name}/${id ?? ''}`} id=${id} /></main>
    </div>
  `
}

/** The hash is the route, so a link to the content must not change it. */
function skipToContent(event: Event): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}

/** What makes this page show something else than the server has. */
function Notes() {
  const behind = skew.value
  return html`<div class="notes">
    ${newVersion.value && html`<p class="note" role="status">The server is Holdfast ${newVersion.value} now, and this page is of an earlier one. <button class="small" onClick=${() => location.reload()}>Load the page again</button> What you typed in a chat stays.</p>`}
    ${behind !== 0 && html`<p class="note" role="status">The clock of this computer is ${duration(Math.abs(behind))} ${behind > 0 ? 'behind' : 'ahead of'} that of the server. Ages and deadlines here go by the server.</p>`}
  </div>`
}

function ConnectionNote() {
  const { value } = connection
  if (value.state !== 'lost') return html`<span class="connection" role="status"></span>`
  const since = duration(Math.max(1_000, now.value - value.since))
  return html`<span class="connection lost" role="status">No connection for ${since}. Trying again; what you see is from before.</span>`
}
