import { type Chart, drawChart } from './chart.ts'
import { percentile, type Sample } from './sample.ts'
import type { SoakReport } from './soak.ts'

/** The soak as one self-contained page without scripts. */
export function pageOf(report: SoakReport): string {
  const { verdict, minutes, seed } = report
  const failed = verdict.findings.filter((finding) => !finding.isGood).length
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast soak</title>
<style>${STYLE}</style>
<main>
<header>
  <p class="eyebrow">Holdfast soak · ${tidy(minutes)} minutes · seed ${seed}</p>
  <h1 class="${verdict.isGood ? 'good' : 'bad'}">${verdict.isGood ? 'Bounded, consistent and never stuck' : `${failed} of ${verdict.findings.length} findings are bad`}</h1>
  <p class="lead">One server process on a real SQLite home, under turns with tools, parallel tools, approvals, cancels,
  steered messages, failing and stalling models, huge outputs, and watchers that come, go and read slowly.</p>
</header>
${tiles(report)}
<section><h2>Verdict</h2>${findings(report)}</section>
<section><h2>Curves</h2><p>Dashed lines: every invariant was checked on the live database at that moment.</p>
<div class="charts">${charts(report).map(drawChart).join('\n')}</div></section>
<section><h2>How turns ended</h2>${endings(report)}</section>
<footer>Repeat it: <code>npm run soak -- --minutes ${tidy(minutes)}</code>. The figures are in <code>soak.json</code>.</footer>
</main>
</html>
`
}

function tiles({ totals, samples, checks }: SoakReport): string {
  const tile = (value: string, label: string) => `<div class="tile"><b>${value}</b><span>${label}</span></div>`
  const median = (of: (sample: Sample) => number) => percentile(samples.map(of), 0.5)
  const turns = Object.values(totals.endings).reduce((sum, times) => sum + times, 0)
  return `<div class="tiles">
${tile(count(totals.sent), 'messages sent')}
${tile(count(turns), 'turns ended')}
${tile(count(totals.conversations), 'conversations')}
${tile(count(totals.answered), 'approvals answered')}
${tile(count(totals.cancelled), 'cancels')}
${tile(count(totals.watched), 'watchers')}
${tile(`${median((sample) => sample.turnP50).toFixed(0)} ms`, 'a plain turn, p50')}
${tile(count(checks.at(-1)?.messages ?? 0), 'messages in the store')}
</div>`
}

function findings({ verdict }: SoakReport): string {
  const rows = verdict.findings.map(
    ({ name, isGood, detail }) =>
      `<tr><td>${isGood ? '<i class="yes">✓</i>' : '<i class="no">✗</i>'}</td><td><b>${name}</b></td><td>${escaped(detail)}</td></tr>`,
  )
  return `<table>${rows.join('\n')}</table>`
}

function charts({ samples, checks }: SoakReport): Chart[] {
  const times = samples.map((sample) => sample.at)
  const marks = checks.map((check) => check.at).filter((at) => at <= (times.at(-1) ?? 0))
  const of = (pick: (sample: Sample) => number) => samples.map(pick)
  const megabytes = (pick: (sample: Sample) => number) => samples.map((sample) => pick(sample) / 2 ** 20)
  const chart = (rest: Omit<Chart, 'times' | 'marks'>): Chart => ({ ...rest, times, marks })
  return [
    chart({
      title: 'Memory',
      unit: 'MB',
      about:
        'Kept: the heap after a full collection; a leak shows here. Resident memory includes the page caches of SQLite, up to 64 MB for each file.',
      lines: [
        { name: 'resident', tone: 'one', values: megabytes((sample) => sample.rss) },
        { name: 'heap', tone: 'two', values: megabytes((sample) => sample.heap) },
        { name: 'after GC', tone: 'three', values: megabytes((sample) => sample.heapAfterGc) },
      ],
    }),
    chart({
      title: 'Files on disk',
      unit: 'MB',
      about: 'Messages, events and chunks only grow; the write-ahead logs stay at the size of a checkpoint.',
      lines: [
        { name: 'database', tone: 'one', values: megabytes((sample) => sample.database) },
        { name: 'write-ahead logs', tone: 'two', values: megabytes((sample) => sample.log) },
        { name: 'chunk log', tone: 'three', values: megabytes((sample) => sample.chunks) },
      ],
    }),
    chart({
      title: 'Sending a message',
      unit: 'ms',
      about: 'Until it is accepted: on disk, with its fsync.',
      lines: [
        { name: 'p99', tone: 'two', values: of((sample) => sample.sendP99) },
        { name: 'p50', tone: 'one', values: of((sample) => sample.sendP50) },
      ],
    }),
    chart({
      title: 'A whole plain turn',
      unit: 'ms',
      about: 'From sending to the end of its run, the queue of its conversation included.',
      lines: [
        { name: 'p99', tone: 'two', values: of((sample) => sample.turnP99) },
        { name: 'p50', tone: 'one', values: of((sample) => sample.turnP50) },
      ],
    }),
    chart({
      title: 'Event-loop delay',
      unit: 'ms',
      about: 'How long the event loop was blocked.',
      lines: [
        { name: 'longest', tone: 'two', values: of((sample) => sample.loopMax) },
        { name: 'p99', tone: 'one', values: of((sample) => sample.loopP99) },
      ],
    }),
    chart({
      title: 'Traffic',
      unit: '',
      about: 'Turns running at the moment of the sample, and turns that ended per second.',
      lines: [
        { name: 'ended per second', tone: 'one', values: of((sample) => sample.turnsPerSecond) },
        { name: 'running', tone: 'two', values: of((sample) => sample.running) },
      ],
    }),
    chart({
      title: 'Open files',
      unit: '',
      about: 'File descriptors of the server process.',
      lines: [{ name: 'open', tone: 'one', values: of((sample) => sample.files) }],
    }),
    chart({
      title: 'Checking every invariant',
      unit: 's',
      about: 'The whole live database, checked by another process, repeated checks included.',
      lines: [{ name: 'took', tone: 'one', values: checks.map((check) => check.seconds) }],
    }),
  ].map((one, index, all) =>
    index === all.length - 1 ? { ...one, times: checks.map((check) => check.at), marks: [] } : one,
  )
}

function endings({ totals }: SoakReport): string {
  const rows = Object.entries(totals.endings).sort((one, other) => other[1] - one[1])
  const most = rows[0]?.[1] ?? 1
  const bars = rows.map(
    ([name, times]) =>
      `<div class="bar"><span>${escaped(name)}</span><i style="width:${Math.max(0.5, (times / most) * 100).toFixed(1)}%"></i><b>${count(times)}</b></div>`,
  )
  return `<div class="bars">${bars.join('\n')}</div>`
}

const count = (number: number): string => number.toLocaleString('en')
const tidy = (number: number): string => String(Math.round(number * 100) / 100)
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const STYLE = `
:root { color-scheme: light dark; --ink: #16202b; --soft: #5d6b7a; --line: #e3e8ee; --paper: #fbfcfd; --card: #fff;
  --good: #1c7c54; --bad: #b3261e; --one: #2f6fb3; --two: #c4661f; --three: #6d8a3c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #94a3b3; --line: #2a343f; --paper: #10161c;
  --card: #182029; --good: #5cc896; --bad: #ff8a80; --one: #6aa9e9; --two: #f0a05a; --three: #a9c96a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
.eyebrow { margin: 0; color: var(--soft); font-size: .85rem; }
h1 { margin: .2rem 0 .6rem; font-size: 2.2rem; line-height: 1.15; }
h1.good { color: var(--good); } h1.bad { color: var(--bad); }
h2 { margin: 2.5rem 0 .4rem; font-size: 1.25rem; }
.lead, section > p, footer { max-width: 46rem; color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .75rem; margin: 1.5rem 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.4rem; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid var(--line); padding: .45rem .75rem .45rem 0; vertical-align: top; }
td:nth-child(1) { width: 1.6rem; } td:nth-child(2) { width: 11rem; }
.yes { color: var(--good); font-style: normal; } .no { color: var(--bad); font-style: normal; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); gap: 1rem; margin-top: 1rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem .7rem; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .2rem 1rem; }
h3 { margin: 0; font-size: 1rem; } h3 small { color: var(--soft); font-weight: 400; }
.legend { margin: 0; font-size: .82rem; color: var(--soft); display: flex; gap: 1rem; }
.legend b { color: var(--ink); font-variant-numeric: tabular-nums; }
.legend i { display: inline-block; width: .9rem; height: .2rem; border-radius: 1px; margin-right: .35rem; vertical-align: middle; }
i.one { background: var(--one); } i.two { background: var(--two); } i.three { background: var(--three); }
svg { display: block; width: 100%; height: auto; margin: .4rem 0 .2rem; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); } .mark { stroke: var(--soft); stroke-dasharray: 2 4; opacity: .6; }
.curve { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.curve.one { stroke: var(--one); } .curve.two { stroke: var(--two); } .curve.three { stroke: var(--three); }
.about { margin: 0; color: var(--soft); font-size: .82rem; }
.bar { display: grid; grid-template-columns: 12rem 1fr 5rem; gap: .75rem; align-items: center; padding: .15rem 0; }
.bar i { height: .7rem; background: var(--one); border-radius: .2rem; } .bar b { font-weight: 500; text-align: right; }
@media (max-width: 40rem) { .bar { grid-template-columns: 8rem 1fr 4rem; } }
footer { margin-top: 3rem; font-size: .9rem; }
`
