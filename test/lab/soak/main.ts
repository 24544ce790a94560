import { parseArgs } from 'node:util'
import { runSoak } from './soak.ts'

/** `npm run soak -- --minutes 10`: one soak, its verdict on the screen and its curves in a page. */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    folder: { type: 'string', default: 'lab-report' },
  },
})
const { folder } = values
const report = await runSoak({
  minutes: Number(values.minutes),
  seed: Number(values.seed),
  folder,
  onSample({ at, rss, heap, running, turnsPerSecond }) {
    const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`
    const line = `${at.toFixed(0)} s: ${megabytes(rss)} resident, ${megabytes(heap)} heap, ${running} turns running, ${turnsPerSecond.toFixed(0)} ended per second`
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  },
})
if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
for (const { name, isGood, detail } of report.verdict.findings) console.log(`${isGood ? '✓' : '✗'} ${name}: ${detail}`)
console.log(`The curves are in ${folder}/soak.html.`)
process.exitCode = report.verdict.isGood ? 0 : 1
