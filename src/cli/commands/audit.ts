import type { ChainedEntry } from '../../core/audit.ts'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ListPage } from '../../ports/list-page.ts'
import { listAudit } from '../../service/people/audit.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { namedOrganization } from '../named-organization.ts'
import { timeJson } from '../run-json.ts'
import { stoppable } from '../stoppable.ts'
import { safeText } from '../terminal.ts'

type AuditFlags = { limit: string; organization?: string; json?: boolean; follow?: boolean; after?: string }

/** How often `--follow` looks for new entries. */
const LOOK_MS = 1_000
const PAGE = 1_000

/** Prints the audit log, newest entry last; with `--follow` also every later entry, until a signal. */
export const audit = (flags: AuditFlags, cli: CliContext): Promise<number> =>
  withApp(cli, 'guest', ({ context }) =>
    stoppable(async (signal) => {
      const where = await namedOrganization(flags.organization, context)
      const read = (page: ListPage) => listAudit({ page, ...where }, context)
      const limit = parseLimit(flags.limit)
      const { after } = flags
      const entries = after
        ? await read({ limit, order: 'asc', after })
        : (await read({ limit, order: 'desc' })).reverse()
      if (flags.follow) await follow({ entries, after, read }, { flags, cli, clock: context.deps.clock, signal })
      else if (flags.json) printJson(cli.out, entries.map(entryJson))
      else if (entries.length === 0) cli.out.line('The audit log is empty.')
      else for (const entry of entries) printEntry(entry, flags, cli)
      return 0
    }),
  )

type Following = {
  entries: ChainedEntry[]
  after: string | undefined
  read(page: ListPage): Promise<ChainedEntry[]>
}
type FollowOptions = { flags: AuditFlags; cli: CliContext; clock: Clock; signal: AbortSignal }

async function follow(
  { entries, after, read }: Following,
  { flags, cli, clock, signal }: FollowOptions,
): Promise<void> {
  let last = after
  let page = entries
  while (!signal.aborted) {
    for (const entry of page) printEntry(entry, flags, cli)
    last = page.at(-1)?.id ?? last
    if (page.length < PAGE) await clock.sleep(LOOK_MS, signal)
    page = await read({ limit: PAGE, order: 'asc', ...defined({ after: last }) })
  }
}

function printEntry(entry: ChainedEntry, { json, follow: isStream }: AuditFlags, { out }: CliContext): void {
  const { at, actor, from, verb, object, detail, outcome, status } = entry
  if (json && isStream) {
    out.line(JSON.stringify(entryJson(entry)))
    return
  }
  const what = [verb, object, detail && `(${detail})`].filter(Boolean).join(' ')
  const how = [outcome, status].filter(Boolean).join(' ')
  out.line(safeText(`${timeJson(at)}  ${how.padEnd(12)} ${what}  by ${actor}${from ? ` from ${from}` : ''}`))
}

function parseLimit(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit > 0 && limit <= 10_000) return limit
  throw new Problem('invalid', `--limit must be a whole number from 1 to 10000, not "${text}".`)
}

const entryJson = ({ id, at, organizationId, actor, userId, from, requestId, ...rest }: ChainedEntry) => ({
  id,
  at: timeJson(at),
  organization_id: organizationId,
  actor,
  user_id: userId ?? null,
  from: from ?? null,
  ...rest,
  request_id: requestId ?? null,
})
