import { RARE_STATES, seedsPerCoreMinute } from '../simulator/run-seeds.ts'
import { complaintsOf, isFound, type LabReport, percentile } from './lab-report.ts'

const WIDTH = 28

/** The report of a lab run on one screen. */
export function screenOf(report: LabReport, options: { isLong: boolean }): string {
  const { seeds, others, planted, kills } = report
  const complaints = complaintsOf(report, options)
  const lines = [
    `seeds      ${count(seeds.seeds)} run, ${count(seeds.events)} events, ${count(seeds.runs)} runs, ${seeds.repeated} repeated`,
    `           ${seedsPerCoreMinute(seeds)} seeds a minute on one core, ${seeds.violations.length} with a violation`,
    ...others.map(
      ({ name, report: one }) =>
        `${name.padEnd(10)} ${count(one.seeds)} seeds, ${count(one.events)} events, ${one.violations.length} with a violation${reachedText(one.reached)}`,
    ),
    '',
    'faults     injected',
    ...bars(seeds.faults).map((line) => `           ${line}`),
    '',
    'states     that must be reached',
    ...RARE_STATES.map((state) => `           ${state.padEnd(42)} ${count(seeds.reached[state] ?? 0)}`),
    '',
    `planted    ${planted.filter(isFound).length} of ${planted.length} bugs found`,
    ...slowest(report).map((line) => `           ${line}`),
    '',
    ...kills.map(
      ({ database, report: { kills: number, violations, recoveries, accepted } }) =>
        `kills      ${count(number)} on ${database}, ${count(accepted)} messages accepted, ${violations.length} violations, recovered in ${percentile(recoveries, 0.5)} ms (p99 ${percentile(recoveries, 0.99)}, slowest ${percentile(recoveries, 1)})`,
    ),
    '',
    ...(complaints.length > 0 ? ['NOT CLEAN', ...complaints.slice(0, 20)] : ['clean']),
  ]
  return lines.join('\n')
}

const reachedText = (reached: Record<string, number>): string =>
  Object.entries(reached)
    .map(([state, times]) => `, ${count(times)} ${state}`)
    .join('')

/** The bugs that took the most seeds to find: a measure of the simulator. */
const slowest = ({ planted }: LabReport): string[] =>
  planted
    .filter(isFound)
    .sort((one, other) => other.seed! - one.seed!)
    .slice(0, 5)
    .map(({ name, seed }) => `seed ${String(seed).padStart(3)}  ${name}`)

function bars(faults: Record<string, number>): string[] {
  const sorted = Object.entries(faults).sort((one, other) => other[1] - one[1])
  const most = sorted[0]?.[1] ?? 1
  return sorted.map(
    ([name, times]) =>
      `${name.padEnd(26)} ${'▇'.repeat(Math.max(1, Math.round((times / most) * WIDTH))).padEnd(WIDTH)} ${count(times)}`,
  )
}

const count = (number: number): string => number.toLocaleString('en')
