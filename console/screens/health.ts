import { useSignal } from '@preact/signals'
import { type Failure, request } from '../api.ts'
import { Gateway } from '../health/gateway.ts'
import { html } from '../html.ts'
import { costText } from '../parts/cost.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { hrefOf } from '../route.ts'
import { may } from '../session.ts'
import { ageOf, clockTime, duration, now } from '../times.ts'

type Health = {
  providers: {
    name: string
    state: string
    used_by: string[]
    credentials: { label: string; kind: string; state: string; detail: string | null; until: string | null }[]
    cooldowns: { of: string; reason: string; detail: string; until: string }[]
  }[]
  runs: { queued: number; running: number; waiting: number; oldest_queued_at: string | null }
  nodes: string[]
  search_index: { lagging_conversations: number }
  sandbox: { containment: string; fault: string | null; kernel: string[] }
  last_backup: { date: string; file: string; bytes: number } | null
}

const MATTERS = new Set(['run', 'credential', 'cooldown'])

export function HealthScreen() {
  const health = useResource<Health>(may('admin') ? '/v1/holdfast/health' : undefined, ({ kind }) =>
    MATTERS.has(kind),
  ).value
  const { value } = health
  return html`
    <h1>Health</h1>
    ${!may('admin') && html`<p class="hint">Providers, queues and the doctor are for administrators.</p>`}
    <${Fault} failure=${health.failure} />
    ${value && html`<${Queues} of=${value} /><${Providers} of=${value.providers} /><${Gateway} /><${Machine} of=${value} /><${Doctor} />`}
    <${Spending} />
    <${Limits} />
  `
}

function Queues({ of: { runs, nodes } }: { of: Health }) {
  const retrying =
    useResource<{ retrying: number }>('/v1/holdfast/run-counts', ({ kind }) => kind === 'run').value.value?.retrying ??
    0
  const { queued, running, waiting, oldest_queued_at: oldest } = runs
  return html`
    <div class="facts">
      <a href=${hrefOf('runs', undefined, { state: 'running' })}>${running} running</a>
      <a href=${hrefOf('runs', undefined, { state: 'created' })}>${queued} queued${oldest ? `, the oldest ${ageOf(oldest)}` : ''}</a>
      <a href=${hrefOf('inbox')}>${waiting} wait for a person</a>
      ${retrying > 0 && html`<a class="state-waiting" href=${hrefOf('runs', undefined, { state: 'retrying' })}>${retrying} retrying: a provider does not answer</a>`}
      <span>${nodes.length} ${nodes.length === 1 ? 'process runs' : 'processes run'} turns</span>
    </div>
  `
}

const STATES: Record<string, string> = {
  ready: 'ready',
  'cooling-down': 'resting',
  dead: 'no usable key',
  'no-key': 'no key',
  'not-configured': 'not configured',
}

function Providers({ of }: { of: Health['providers'] }) {
  const shown = of.filter(({ state, used_by: users }) => state !== 'not-configured' || users.length > 0)
  return html`
    <h2>Providers</h2>
    ${shown.length === 0 && html`<p class="hint">None is configured: the built-in scripted model answers. Set <code>OPENAI_API_KEY</code>, <code>ANTHROPIC_API_KEY</code> or another key in the environment of the server, or add one with <code>holdfast auth add</code>.</p>`}
    <table class="wide" hidden=${shown.length === 0}>
      <thead><tr><th>Provider</th><th>State</th><th>Used by</th><th>Keys</th></tr></thead>
      <tbody>${shown.map(
        ({ name, state, used_by: users, credentials, cooldowns }) => html`
        <tr key=${name}>
          <td>${visible(name)}</td>
          <td class=${state === 'ready' ? 'state-completed' : 'state-waiting'}>${STATES[state] ?? state}
            ${cooldowns.map(({ reason, detail, until }) => html`<br /><small title=${visible(detail)}>${reason}: ${untilText(until)}</small>`)}</td>
          <td>${visible(users.join(', ') || 'no agent')}</td>
          <td>${credentials.map(
            ({ label, state: condition, detail, until }) =>
              html`<div>${visible(label)} <small class=${condition === 'ok' ? '' : 'state-waiting'}>${
                condition === 'ok'
                  ? ''
                  : `${condition}${detail ? `: ${visible(detail)}` : ''}${until ? `, ${untilText(until)}` : ''}`
              }</small></div>`,
          )}</td>
        </tr>`,
      )}</tbody>
    </table>
  `
}

function untilText(date: string): string {
  const left = Date.parse(date) - now.value
  return left > 0 ? `used again in ${duration(left)}` : 'used again now'
}

function Machine({ of: { sandbox, last_backup: backup, nodes, search_index: index } }: { of: Health }) {
  const { lagging_conversations: lagging } = index
  return html`
    <h2>This machine</h2>
    <ul>
      <li>Sandbox: ${sandbox.fault ? html`<span class="state-failed">${visible(sandbox.fault)}</span>` : `${sandbox.containment === 'local' ? 'none (local): every command waits for approval' : `${sandbox.containment} works`}${sandbox.kernel.length > 0 ? `; the kernel limits ${sandbox.kernel.join(', ')}` : ''}`}</li>
      <li>Nodes: ${nodes.length === 0 ? html`<span class="state-failed">no process runs turns</span>` : nodes.map((node) => html`<code key=${node}>${node}</code> `)}</li>
      <li>Search index: ${lagging === 0 ? 'every message is in it' : `${lagging >= 100 ? '100 or more' : lagging} ${lagging === 1 ? 'conversation has' : 'conversations have'} messages that are not in it yet; a search finds these too, slower`}</li>
      <li>Backup: ${backup ? html`<span title=${clockTime(backup.date)}>${ageOf(backup.date)}, ${visible(backup.file)}</span>` : html`<span class="state-waiting">none yet</span>. Write one with <code>holdfast backup FILE</code>.`}</li>
    </ul>
  `
}

type Findings = {
  runs: number
  conversations: number
  messages: number
  violations: { invariant: string; sentence: string; where: string; detail: string }[]
  notices: { where: string; detail: string }[]
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

function Doctor() {
  const findings = useSignal<Findings | undefined>(undefined)
  const failure = useSignal<Failure | undefined>(undefined)
  const isRunning = useSignal(false)
  async function check(): Promise<void> {
    isRunning.value = true
    const answer = await request<Findings>('POST', '/v1/holdfast/doctor', {})
    isRunning.value = false
    failure.value = answer.ok ? undefined : answer.failure
    findings.value = answer.ok ? answer.value : undefined
  }
  const found = findings.value
  return html`
    <h2>Doctor</h2>
    <p class="hint">Checks the stored data against every invariant. It reads all of it, which takes a while on a large database.</p>
    <div class="bar"><button disabled=${isRunning.value} onClick=${check}>${isRunning.value ? 'Checking …' : 'Check now'}</button>
      <span role="status">${found && (found.violations.length === 0 ? `Every invariant holds: ${counted(found.runs, 'run')}, ${counted(found.conversations, 'conversation')}, ${counted(found.messages, 'message')}.` : counted(found.violations.length, 'violation'))}</span></div>
    <${Fault} failure=${failure.value} />
    ${
      found &&
      found.violations.length > 0 &&
      html`<p>Stop the server and run <code>holdfast doctor --repair</code>: it repairs what can be repaired without guessing.</p>
      <ul>${found.violations.map(({ invariant, sentence, where, detail }) => html`<li key=${`${invariant}${where}`}><strong>${invariant}</strong>: ${sentence}. ${visible(where)}: ${visible(detail)}</li>`)}</ul>`
    }
    ${found && found.notices.length > 0 && html`<ul>${found.notices.map(({ where, detail }) => html`<li key=${where}>${visible(where)}: ${visible(detail)}</li>`)}</ul>`}
  `
}

function Spending() {
  const days = useResource<{ day: string; usd: number; tokens: number }[]>(
    '/v1/holdfast/spending?days=14',
    () => false,
  ).value
  const used = (days.value ?? []).filter(({ tokens }) => tokens > 0)
  const most = Math.max(1, ...used.map(({ tokens }) => tokens))
  return html`
    <h2>Spending</h2>
    <${Fault} failure=${days.failure} />
    ${
      used.length === 0
        ? html`<p class="hint">Nothing was spent in the last 14 days. The built-in model is free.</p>`
        : html`
    <table>
      <thead><tr><th>Day (UTC)</th><th class="number">Cost</th><th class="number">Tokens</th><th><span class="visually-hidden">Share of the largest day</span></th></tr></thead>
      <tbody>${used.map(
        ({
          day,
          usd,
          tokens,
        }) => html`<tr key=${day}><td>${day}</td><td class="number">${costText(usd)}</td><td class="number">${tokens.toLocaleString()}</td>
          <td class="lane"><svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=${`${tokens} tokens`}><rect class="used" x="0" y="1" width=${(100 * tokens) / most} height="6" /></svg></td></tr>`,
      )}</tbody>
    </table>`
    }
  `
}

type Limit = { name: string; of: string; unit: string; limit: number | null; used: number | null }

function Limits() {
  const limits = useResource<{ limits: Limit[] }>('/v1/limits', ({ kind }) => kind === 'run').value
  const shown = (limits.value?.limits ?? []).filter(({ limit, used }) => limit !== null || used !== null)
  return html`
    <h2>Limits</h2>
    <${Fault} failure=${limits.failure} />
    <table>
      <thead><tr><th>Limit</th><th>Of</th><th class="number">Used</th><th class="number">Limit</th></tr></thead>
      <tbody>${shown.map(
        ({ name, of, unit, limit, used }) => html`<tr key=${`${of}${name}`}><td>${name}</td><td>${of}</td>
          <td class="number">${used === null ? '' : used.toLocaleString()}</td><td class="number">${limit === null ? 'none' : `${limit.toLocaleString()} ${unit}`}</td></tr>`,
      )}</tbody>
    </table>
  `
}
