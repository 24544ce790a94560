import { RARE_STATES, seedsPerCoreMinute } from '../simulator/run-seeds.ts'
import { complaintsOf, isFound, type LabReport, percentile, summaryOf } from './lab-report.ts'

/** The report as one self-contained page without scripts. */
export function pageOf(report: LabReport, options: { isLong: boolean }): string {
  const complaints = complaintsOf(report, options)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast lab report</title>
<style>${STYLE}</style>
<main>
<header>
  <p class="eyebrow">Holdfast lab · ${escaped(report.startedAt.slice(0, 16).replace('T', ' '))} UTC · ${escaped(report.commit)}</p>
  <h1>${complaints.length === 0 ? 'Every promise held' : 'This run is not clean'}</h1>
  <p class="lead">The real engine and the real SQL, run through thousands of simulated days with faults on a virtual clock;
  planted bugs that the lab must find; real processes killed on real files. It took ${duration(report.ms)}.</p>
</header>
${tiles(report)}
${complaints.length > 0 ? `<section class="bad"><h2>What is wrong</h2><ul>${complaints.map((text) => `<li><code>${escaped(text)}</code></li>`).join('')}</ul></section>` : ''}
<section><h2>Injected faults</h2>
<p>Each seed has its own mixture of faults. This is how often each was injected.</p>${faultBars(report)}</section>
<section><h2>Rare states that were reached</h2>
<p>A lab run must reach each of these states, or it fails.</p>${states(report)}</section>
${others(report)}<section><h2>Planted bugs</h2>
<p>Each is a small patch of a copy of the product. The simulator must find it within 400 seeds.</p>${bugs(report)}</section>
<section><h2>Kills</h2>
<p>Processes killed with SIGKILL under load, at exact calls of the store and at random moments.</p>${killTable(report)}</section>
<footer>Repeat it: <code>npm run lab</code>. One seed as a story: <code>npm run lab -- --seed 42</code>.</footer>
</main>
</html>
`
}

function tiles(report: LabReport): string {
  const summary = summaryOf(report)
  const { seeds } = report
  const tile = (value: string, label: string, isBad = false) =>
    `<div class="tile${isBad ? ' wrong' : ''}"><b>${value}</b><span>${label}</span></div>`
  return `<div class="tiles">
${tile(count(summary.seeds), 'days simulated')}
${tile(count(summary.violations + summary.kill_violations), 'violations', summary.violations + summary.kill_violations > 0)}
${tile(`${summary.planted_found} / ${summary.planted}`, 'planted bugs found', summary.planted_found < summary.planted)}
${tile(count(summary.kills), 'kills survived', summary.kill_violations > 0)}
${tile(count(summary.events), 'events')}
${tile(count(seedsPerCoreMinute(seeds)), 'days per minute on one core')}
${tile(`${count(summary.recovery_p99_ms)} ms`, 'recovery after a kill, p99')}
${tile(`${count(summary.recovery_max_ms)} ms`, 'slowest recovery')}
</div>`
}

function faultBars({ seeds }: LabReport): string {
  const sorted = Object.entries(seeds.faults).sort((one, other) => other[1] - one[1])
  const most = sorted[0]?.[1] ?? 1
  const rows = sorted.map(
    ([name, times]) =>
      `<div class="bar"><span>${escaped(name.replaceAll('-', ' '))}</span><i style="width:${Math.max(0.5, (times / most) * 100).toFixed(1)}%"></i><b>${count(times)}</b></div>`,
  )
  return `<div class="bars">${rows.join('\n')}</div>`
}

function states({ seeds }: LabReport): string {
  const rows = RARE_STATES.map((state) => {
    const times = seeds.reached[state] ?? 0
    return `<tr><td>${mark(times > 0)}</td><td>${escaped(state)}</td><td class="number">${count(times)} times</td></tr>`
  })
  return `<table>${rows.join('\n')}</table>`
}

function others({ others: simulations }: LabReport): string {
  if (simulations.length === 0) return ''
  const rows = simulations.map(({ name, report }) => {
    const reached = Object.entries(report.reached).map(([state, times]) => `${count(times)} ${escaped(state)}`)
    return `<tr><td>${mark(report.violations.length === 0)}</td><td><b>${escaped(name)}</b><small>${reached.join(', ')}</small></td><td class="number">${count(report.seeds)} seeds</td></tr>`
  })
  return `<section><h2>Other simulations</h2>
<p>What is not a turn, simulated in the same way.</p><table>${rows.join('\n')}</table></section>
`
}

function bugs({ planted }: LabReport): string {
  const rows = planted.map((bug) => {
    const seed = bug.seed === undefined ? (bug.fault ?? 'not found') : `seed ${bug.seed}`
    const what = `<b>${escaped(bug.name)}</b><small>${escaped(bug.breaks)}</small>`
    const said = bug.violation ? `<small><code>${escaped(shortened(bug.violation))}</code></small>` : ''
    return `<tr><td>${mark(isFound(bug))}</td><td>${what}${said}</td><td class="number">${escaped(seed)}</td></tr>`
  })
  return `<table>${rows.join('\n')}</table>`
}

function killTable({ kills }: LabReport): string {
  if (kills.length === 0) return '<p><em>None in this run.</em></p>'
  const head =
    '<tr><th>database</th><th>kills</th><th>accepted</th><th>runs</th><th>recovery p50</th><th>p99</th><th>slowest</th><th>violations</th></tr>'
  const rows = kills.map(({ database, report }) => {
    const { recoveries } = report
    const times = [0.5, 0.99, 1].map((share) => `${count(percentile(recoveries, share))} ms`)
    const cells = [count(report.kills), count(report.accepted), count(report.runs), ...times, report.violations.length]
    return `<tr><td>${escaped(database)}</td>${cells.map((cell) => `<td class="number">${cell}</td>`).join('')}</tr>`
  })
  return `<table>${head}${rows.join('\n')}</table>`
}

const mark = (isGood: boolean): string => (isGood ? '<i class="yes">✓</i>' : '<i class="no">✗</i>')

/** Shortens ids, which mean nothing to a reader of the page. */
const shortened = (text: string): string => {
  const short = text.replace(/-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '').replaceAll(/\s+/g, ' ')
  return short.length > 160 ? `${short.slice(0, 160)}…` : short
}

const count = (number: number): string => number.toLocaleString('en')

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const STYLE = `
:root { color-scheme: light dark; --ink: #16202b; --soft: #5d6b7a; --line: #e3e8ee; --paper: #fbfcfd; --card: #fff;
  --good: #1c7c54; --bad: #b3261e; --accent: #2f6fb3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #94a3b3; --line: #2a343f; --paper: #10161c;
  --card: #182029; --good: #5cc896; --bad: #ff8a80; --accent: #6aa9e9; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
.eyebrow { margin: 0; color: var(--soft); font-size: .85rem; }
h1 { margin: .25rem 0 .75rem; font-size: 2.25rem; line-height: 1.15; letter-spacing: -.02em; }
h2 { margin: 0 0 .25rem; font-size: 1.2rem; }
.lead { max-width: 46rem; color: var(--soft); margin: 0 0 2rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; margin-bottom: 2rem; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem; }
.tile b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
.tile.wrong b { color: var(--bad); }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1.25rem 1.4rem;
  margin-bottom: 1.25rem; }
section.bad { border-color: var(--bad); }
section > p { margin: 0 0 1rem; color: var(--soft); font-size: .92rem; }
.bar { display: grid; grid-template-columns: 13rem 1fr 5rem; align-items: center; gap: .75rem; font-size: .9rem;
  padding: .12rem 0; }
.bar i { display: block; height: .8rem; border-radius: .2rem; background: var(--accent); }
.bar b { text-align: right; font-weight: 500; font-variant-numeric: tabular-nums; }
table { width: 100%; border-collapse: collapse; font-size: .92rem; }
td, th { padding: .45rem .5rem .45rem 0; border-top: 1px solid var(--line); vertical-align: top; text-align: left; }
tr:first-child > * { border-top: 0; }
th { color: var(--soft); font-weight: 500; font-size: .82rem; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td b { font-weight: 600; }
small { display: block; color: var(--soft); font-size: .82rem; overflow-wrap: anywhere; }
.yes, .no { font-style: normal; font-weight: 700; }
.yes { color: var(--good); }
.no { color: var(--bad); }
code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: .88rem; }
@media (max-width: 40rem) { .bar { grid-template-columns: 8rem 1fr 3.5rem; } h1 { font-size: 1.7rem; } }
`
