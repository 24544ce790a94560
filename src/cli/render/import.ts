import { commandLine } from '../program-name.ts'
import { type Screen, safeText } from '../terminal.ts'
import { printTable } from './table.ts'

export type ImportView = {
  id: string
  source: string
  state: 'running' | 'done' | 'failed' | 'stopped'
  complete: boolean
  failure: string | null
  stage: string
  version: string | null
  dry_run: boolean
  passes: number
  progress: { done: number; total: number | null; per_second: number; seconds_left: number | null }
  counts: CountView[]
  remarks: RemarkView[]
  started_at: string
  updated_at: string
}

type CountView = {
  kind: string
  source: number
  imported: number
  remapped: number
  kept: number
  left_out: number
  failed: number
  deleted: number
  missing: number
}

type RemarkView = { kind: string; id: string; parent: string | null; outcome: string; reason: string | null }

/** `Agent 3 of 50: ada  12,340 of 220,000 objects, 3,412 per second, about 1 min left`. */
export function progressLine({ stage, progress }: ImportView): string {
  const { done, total, per_second, seconds_left } = progress
  const counted = total === null ? `${number(done)} objects` : `${number(done)} of ${number(total)} objects`
  const left = seconds_left === null ? '' : `, about ${durationText(seconds_left)} left`
  return `${safeText(stage)}  ${counted}, ${number(Math.round(per_second))} per second${left}`
}

const durationText = (seconds: number): string => {
  if (seconds < 90) return `${Math.max(1, seconds)} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
}

const number = (value: number): string => value.toLocaleString('en')

/** The report: both sides compared, then what has a reason. */
export function printImport(view: ImportView, screen: Screen): void {
  const { paint } = screen.look
  const from =
    view.version === null ? safeText(view.source) : `${safeText(view.source)} (version ${safeText(view.version)})`
  screen.line(`${view.dry_run ? 'Trial of an import' : 'Import'} from ${from}: ${view.state}`)
  if (view.failure) screen.line(paint.red(safeText(view.failure)))
  if (view.state === 'running') screen.line(progressLine(view))
  if (view.counts.length > 0) {
    screen.line()
    printCounts(view, screen)
  }
  if (view.remarks.length > 0) {
    screen.line()
    printRemarks(view, screen)
  }
  screen.line()
  screen.line(verdictOf(view))
}

const cell = (value: number): string => (value === 0 ? '–' : number(value))

function printCounts({ counts, dry_run }: ImportView, screen: Screen): void {
  const right = 'right' as const
  const columns = [
    { title: 'KIND', text: ({ kind }: CountView) => kind },
    { title: 'SOURCE', text: ({ source }: CountView) => cell(source), align: right },
    { title: 'HERE', text: ({ imported }: CountView) => cell(imported), align: right },
    { title: 'NEW ID', text: ({ remapped }: CountView) => cell(remapped), align: right },
    { title: 'KEPT', text: ({ kept }: CountView) => cell(kept), align: right },
    { title: 'LEFT OUT', text: ({ left_out }: CountView) => cell(left_out), align: right },
    { title: 'DELETED', text: ({ deleted }: CountView) => cell(deleted), align: right },
    { title: 'FAILED', text: ({ failed }: CountView) => cell(failed), align: right, paint: 'red' as const },
    { title: 'MISSING', text: ({ missing }: CountView) => cell(missing), align: right, paint: 'red' as const },
  ]
  printTable(counts, dry_run ? columns.slice(0, 2) : columns, screen)
}

/** One line for each reason, with a few of its objects. */
function printRemarks({ remarks }: ImportView, { line, look }: Screen): void {
  const groups = new Map<string, RemarkView[]>()
  for (const remark of remarks) {
    const key = `${remark.outcome} ${remark.kind} ${remark.reason}`
    groups.set(key, [...(groups.get(key) ?? []), remark])
  }
  for (const group of groups.values()) {
    const [first] = group as [RemarkView]
    const ids = group
      .slice(0, 2)
      .map(({ id }) => safeText(id))
      .join(', ')
    const more = group.length > 2 ? ` and ${number(group.length - 2)} more` : ''
    const text = `${first.outcome}: ${first.kind} ${ids}${more}: ${safeText(first.reason ?? '')}`
    line(first.outcome === 'failed' ? look.paint.red(text) : look.paint.dim(text))
  }
}

function verdictOf(view: ImportView): string {
  const again = `\`${commandLine(`import ${view.source}`)}\``
  if (view.dry_run) return `Nothing was imported. ${again} imports it.`
  if (view.state === 'running') return 'It is running.'
  if (view.state !== 'done') return `Everything read so far is kept. ${again} goes on where it was.`
  if (view.complete) return 'Everything at the source is here or named above with its reason.'
  return `Something is missing: see FAILED and MISSING. ${again} tries it again.`
}
