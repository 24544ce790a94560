import type { Page } from 'playwright-core'

/** What the main thread of a page did, from the tracing of the browser. `cpu` is the time of the thread itself, which a busy machine does not lengthen. */
export type MainThread = {
  tasks: { wall: number; cpu: number; parts: Record<string, number> }[]
  /** Milliseconds of processor time by the name of the work: `Layout`, `FunctionCall`, `MinorGC` … */
  byName: Record<string, number>
}

type TraceEvent = {
  name: string
  ph: string
  pid: number
  tid: number
  ts: number
  dur?: number
  tdur?: number
  args: { name?: string }
}

const WORK = new Set([
  'Layout',
  'UpdateLayoutTree',
  'FunctionCall',
  'ParseHTML',
  'Paint',
  'Layerize',
  'PrePaint',
  'Commit',
  'MinorGC',
  'MajorGC',
  'FireAnimationFrame',
  'RunMicrotasks',
  'HitTest',
])

/** Traces the page while the work is done. */
export async function traceMainThread(page: Page, work: () => Promise<void>): Promise<MainThread> {
  const browser = page.context().browser()!
  const categories = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'v8', '__metadata']
  await browser.startTracing(page, { categories })
  await work()
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
  return mainThreadOf(traceEvents)
}

function mainThreadOf(events: readonly TraceEvent[]): MainThread {
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid}/${tid}`
  const mains = new Set(
    events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(threadOf),
  )
  // Of several renderers, the one that did most is that of the page.
  const tasks = new Map<string, TraceEvent[]>([...mains].map((thread) => [thread, []]))
  for (const event of events) if (event.name === 'RunTask' && event.ph === 'X') tasks.get(threadOf(event))?.push(event)
  const [thread, own = []] = [...tasks].toSorted(([, a], [, b]) => cpuOf(b) - cpuOf(a))[0] ?? ['', []]
  const byName: Record<string, number> = {}
  const work = events
    .filter((event) => event.ph === 'X' && WORK.has(event.name) && threadOf(event) === thread)
    .toSorted((a, b) => a.ts - b.ts)
  for (const { name, tdur = 0 } of work) byName[name] = (byName[name] ?? 0) + tdur / 1_000
  const shown = own
    .toSorted((a, b) => a.ts - b.ts)
    .map(({ ts, dur = 0, tdur = 0 }) => ({ ts, end: ts + dur, wall: dur / 1_000, cpu: tdur / 1_000 }))
  let at = 0
  return {
    byName,
    tasks: shown.map(({ ts, end, wall, cpu }) => {
      const parts: Record<string, number> = {}
      while (at < work.length && work[at]!.ts < ts) at++
      for (let next = at; next < work.length && work[next]!.ts <= end; next++)
        parts[work[next]!.name] = (parts[work[next]!.name] ?? 0) + (work[next]!.tdur ?? 0) / 1_000
      return { wall, cpu, parts }
    }),
  }
}

const cpuOf = (events: readonly TraceEvent[]): number => events.reduce((sum, { tdur = 0 }) => sum + tdur, 0)

export function mainThreadText({ tasks, byName }: MainThread): string {
  const cpu = tasks.reduce((sum, task) => sum + task.cpu, 0)
  const wall = tasks.reduce((sum, task) => sum + task.wall, 0)
  const longest = tasks.toSorted((a, b) => b.cpu - a.cpu).slice(0, 3)
  const list = (values: Record<string, number>) =>
    Object.entries(values)
      .filter(([, ms]) => ms >= 0.05)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
      .join(', ')
  return [
    `${tasks.length} tasks, ${Math.round(cpu)} ms of the thread in ${Math.round(wall)} ms`,
    `over 50 ms: ${tasks.filter((task) => task.cpu > 50).length} of the thread, ${tasks.filter((task) => task.wall > 50).length} by the clock`,
    `by work: ${list(byName)}`,
    ...longest.map(
      ({ cpu: ms, wall: clock, parts }) =>
        `long: ${ms.toFixed(1)} ms of the thread, ${clock.toFixed(1)} by the clock (${list(parts)})`,
    ),
  ].join('\n')
}
