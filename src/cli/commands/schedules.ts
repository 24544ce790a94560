import { defined } from '../../core/defined.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/duration.ts'
import { Problem } from '../../core/problem.ts'
import { type Schedule, type ScheduleState, type SettledInstant, stateOf, timingText } from '../../core/schedule.ts'
import { listAgents, requireAgent } from '../../service/agents/agents.ts'
import { listSchedules, scheduleHistory } from '../../service/schedules/schedules.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { pickOne } from '../pick-one.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { ageText } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printFields, printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { type Look, type Screen, safeName, safeText } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

const PAGE = 1_000
/** Instants that `show` prints. */
const SHOWN_INSTANTS = 10

export const listAll = (flags: JsonFlag & { agent?: string }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const agentId = flags.agent === undefined ? undefined : (await requireAgent(flags.agent, context)).id
    const schedules = await allSchedules(context, defined({ agentId }))
    if (flags.json) return printJson(out, schedules.map(scheduleJson))
    if (schedules.length === 0)
      return out.line(`No schedules. \`${commandLine('schedules create AGENT MESSAGE --every 1h')}\` creates one.`)
    const now = context.deps.clock.now()
    const names = new Map((await listAgents(context)).map(({ id, name }) => [id, name]))
    printTable(
      schedules,
      [
        { title: 'ID', text: ({ id }) => id, short: ({ id }) => shortId(id) },
        { title: 'NAME', text: ({ name }) => name, paint: 'bold', shrinksTo: 8 },
        { title: 'AGENT', text: ({ agentId: id }) => names.get(id) ?? id, shrinksTo: 8 },
        { title: 'STATE', text: (one) => stateOf(one), paint: (one: Schedule) => STATE_COLOR[stateOf(one)] },
        { title: 'NEXT', text: (one) => nextText(one, now) },
        { title: 'WHEN', text: ({ timing }) => timingText(timing), shrinksTo: 12 },
      ],
      out,
    )
  })

const STATE_COLOR: Record<ScheduleState, keyof Look['paint']> = { active: 'green', paused: 'yellow', ended: 'dim' }

function nextText({ nextAt, isPaused }: Schedule, now: number): string {
  if (nextAt === undefined || isPaused) return ''
  return nextAt > now ? `in ${ageText(nextAt - now)}` : `due for ${ageText(now - nextAt)}`
}

/** Names need the whole list; an organization has a limited number of schedules. */
async function allSchedules(
  context: ServiceContext,
  filter: { agentId?: Schedule['agentId'] } = {},
): Promise<Schedule[]> {
  const all: Schedule[] = []
  for (;;) {
    const after = all.at(-1)?.id
    const page = await listSchedules(filter, { limit: PAGE, order: 'asc', ...defined({ after }) }, context)
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

const requireNamed = async (which: string, context: ServiceContext): Promise<Schedule> =>
  pickOne(await allSchedules(context), which, { prefix: 'schedule', noun: 'schedule', lister: 'schedules' })

export const show = (which: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const schedule = await requireNamed(which, context)
    const past = await scheduleHistory(schedule.id, { limit: SHOWN_INSTANTS }, context)
    if (json) return printJson(out, { ...scheduleJson(schedule), history: past.map(instantJson) })
    const { quietHours, endsAt, nextAt, isPaused } = schedule
    out.line(`${out.look.paint.bold(titleOf(schedule))}${schedule.name ? ` (${schedule.id})` : ''}`)
    printFields(
      [
        ['state', stateOf(schedule)],
        ['when', timingText(schedule.timing)],
        ['next', nextAt === undefined || isPaused ? '' : new Date(nextAt).toISOString()],
        ['ends', endsAt === undefined ? '' : new Date(endsAt).toISOString()],
        ['quiet hours', quietHours ? `${quietHours.from} to ${quietHours.to} (${quietHours.timezone})` : ''],
        ...heartbeatFields(schedule),
        ['grace', `${schedule.graceMs / 1_000} s`],
        ['late instants', schedule.coalesce ? 'only the last one fires' : 'every one fires'],
        ['guarded calls', schedule.onGuarded === 'deny' ? 'denied' : 'wait for approval'],
        ['agent', schedule.agentId],
        ['conversation', schedule.conversationId ?? 'the default one'],
        ['model', schedule.model],
        ['message', safeText(textOf(schedule))],
        ['created by', schedule.byRun ? `the agent, in ${schedule.byRun}` : schedule.createdBy.actor],
      ],
      out,
    )
    if (past.length > 0) {
      out.line()
      printInstants(past, out)
    }
  })

function heartbeatFields({ heartbeat }: Schedule): [string, string][] {
  if (!heartbeat) return []
  const { silence, restMs, turnsPerDay, dollarsPerDay, timezone } = heartbeat
  const dollars = dollarsPerDay === undefined ? '' : ` and $${dollarsPerDay}`
  return [
    ['heartbeat', `silent if the answer is ${safeText(silence)}`],
    ['rest', `${restMs / 1_000} s after a turn of a person`],
    ['budget', `${turnsPerDay} runs${dollars} a day (${timezone})`],
  ]
}

const titleOf = ({ name, id }: Schedule): string => (name ? safeName(name) : id)

const textOf = ({ inputs }: Schedule): string =>
  inputs.flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '(an image)'))).join('\n')

type CreateFlags = JsonFlag & {
  at?: string
  every?: string
  cron?: string
  timezone?: string
  name?: string
  conversation?: string
  quiet?: string
  ends?: string
  grace?: string
  coalesce?: boolean
  model?: string
  onGuarded: string
}

type HeartbeatFlags = CreateFlags & { silence?: string; rest?: string; turnsPerDay?: string; dollarsPerDay?: string }

type CreateRequest<Flags> = { message: string | undefined; flags: Flags; cli: CliContext }

export const create = (agent: string, request: CreateRequest<CreateFlags>): Promise<void> => post(agent, {}, request)

export function createHeartbeat(agent: string, { message, flags, cli }: CreateRequest<HeartbeatFlags>): Promise<void> {
  const { silence, rest, turnsPerDay, dollarsPerDay, every, cron, ...others } = flags
  const heartbeat = defined({
    silence,
    rest_seconds: rest === undefined ? undefined : seconds('--rest', rest),
    turns_per_day: turnsPerDay === undefined ? undefined : Number(turnsPerDay),
    dollars_per_day: dollarsPerDay === undefined ? undefined : Number(dollarsPerDay),
  })
  const timing = defined({ cron, every: every ?? (cron === undefined ? '30m' : undefined) })
  return post(agent, { heartbeat }, { message, flags: Object.assign(others, timing), cli })
}

const post = (agent: string, more: object, { message, flags, cli }: CreateRequest<CreateFlags>): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api, server }) => {
    const { id: agent_id } = await requireAgent(agent, context)
    const { every, grace, quiet, coalesce, ends, conversation, onGuarded, json: _, ...rest } = flags
    const body = {
      ...rest,
      ...more,
      agent_id,
      ...defined({ content: message }),
      on_guarded: onGuarded,
      ...defined({
        coalesce,
        every_seconds: every === undefined ? undefined : seconds('--every', every),
        grace_seconds: grace === undefined ? undefined : seconds('--grace', grace),
        quiet_hours: quiet === undefined ? undefined : hours(quiet),
        ends_at: ends,
        conversation_id: conversation,
      }),
    }
    const created = await api.request<{ id: string; next_at: string | null }>('POST', '/v1/schedules', body)
    const hint = server ? '' : ` It fires while a server runs: \`${commandLine('serve')}\`.`
    printResult(cli, flags, {
      sentence: `Created ${created.id}. It fires at ${created.next_at}.${hint}`,
      value: created,
    })
  })

const UNITS: Record<string, number> = { s: 1_000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS }

function seconds(flag: string, text: string): number {
  const [, number, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  if (number === undefined)
    throw new Problem('invalid', `${flag} must be a number with s, m, h or d, such as 15m, not "${text}".`)
  return (Number(number) * UNITS[unit]!) / 1_000
}

function hours(text: string): { from: string; to: string } {
  const [from, to, ...more] = text.split('-')
  if (from && to && more.length === 0) return { from, to }
  throw new Problem('invalid', `--quiet must be two times of day, such as 22:00-07:00, not "${text}".`)
}

type PauseOptions = { flags: JsonFlag; cli: CliContext; verb: 'pause' | 'resume' }

export const setPaused = (which: string, { flags, cli, verb }: PauseOptions): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const schedule = await requireNamed(which, context)
    const value = await api.request<{ next_at: string | null }>('POST', `/v1/schedules/${schedule.id}/${verb}`)
    const sentence =
      verb === 'pause'
        ? `Paused ${titleOf(schedule)}. Its instants are skipped until \`${commandLine(`schedules resume ${schedule.id}`)}\`.`
        : `Resumed ${titleOf(schedule)}.`
    printResult(cli, flags, { sentence, value })
  })

export const runNow = (which: string, flags: JsonFlag & { requestId?: string }, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api, server }) => {
    const schedule = await requireNamed(which, context)
    const body = defined({ request_id: flags.requestId })
    const value = await api.request<{ run_id: string }>('POST', `/v1/schedules/${schedule.id}/run`, body)
    const where = server ? '' : ` It is queued until a server runs: \`${commandLine('serve')}\`.`
    printResult(cli, flags, { sentence: `Fired ${titleOf(schedule)}: ${value.run_id}.${where}`, value })
  })

export const history = (which: string, flags: JsonFlag & { limit: string }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const schedule = await requireNamed(which, context)
    const limit = wholeNumber('--limit', flags.limit, { from: 1, to: 1_000 })
    const past = await scheduleHistory(schedule.id, { limit }, context)
    if (flags.json) return printJson(out, past.map(instantJson))
    if (past.length === 0) return out.line('No instant has been settled yet.')
    printInstants(past, out)
  })

const OUTCOME_COLOR: Record<SettledInstant['outcome'], keyof Look['paint']> = {
  fired: 'green',
  missed: 'red',
  skipped: 'yellow',
  refused: 'red',
}

function printInstants(past: readonly SettledInstant[], out: Screen): void {
  printTable(
    past,
    [
      { title: 'INSTANT', text: ({ instant }) => new Date(instant).toISOString() },
      { title: 'COUNT', text: ({ count, isManual }) => (isManual ? 'by hand' : String(count)), align: 'right' },
      { title: 'OUTCOME', text: ({ outcome }) => outcome, paint: ({ outcome }) => OUTCOME_COLOR[outcome] },
      { title: 'LATE', text: ({ settledAt, lastInstant }) => ageText(Math.max(0, settledAt - lastInstant)) },
      { title: 'RUN OR REASON', text: ({ runId, reason }) => runId ?? reason ?? '', shrinksTo: 16 },
    ],
    out,
  )
}

export const remove = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const schedule = await requireNamed(which, context)
    const removal = {
      verb: 'Delete' as const,
      what: `${titleOf(schedule)} (${schedule.id})`,
      consequence: 'Its history goes with it; its runs stay.',
    }
    if (!(await confirmRemoval(removal, flags, cli))) return
    await api.request('DELETE', `/v1/schedules/${schedule.id}`)
    printResult(cli, flags, { sentence: `Deleted ${titleOf(schedule)}.`, value: { id: schedule.id, deleted: true } })
  })

const scheduleJson = (schedule: Schedule) => {
  const { createdAt, nextAt, endsAt, inputs: _, ...rest } = schedule
  return {
    ...rest,
    state: stateOf(schedule),
    message: textOf(schedule),
    created_at: timeJson(createdAt),
    next_at: nextAt === undefined ? null : timeJson(nextAt),
    ends_at: endsAt === undefined ? null : timeJson(endsAt),
  }
}

const instantJson = ({ instant, lastInstant, count, outcome, reason, runId, settledAt, isManual }: SettledInstant) => ({
  instant: timeJson(instant),
  last_instant: timeJson(lastInstant),
  count,
  outcome,
  reason: reason ?? null,
  run_id: runId ?? null,
  settled_at: timeJson(settledAt),
  manual: isManual,
})
