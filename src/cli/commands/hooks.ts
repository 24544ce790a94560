import { defined } from '../../core/defined.ts'
import type { Hook, HookDelivery } from '../../core/hook.ts'
import { Problem } from '../../core/problem.ts'
import { requireAgent } from '../../service/agents/agents.ts'
import { hookDeliveries, listHooks } from '../../service/hooks/hooks.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { pickOne } from '../pick-one.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { secretFromPipe } from '../read-secret.ts'
import { ageText } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { type Look, safeText } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

export const listAll = (flags: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const hooks = await listHooks(context)
    if (flags.json) return printJson(out, hooks.map(hookJson))
    if (hooks.length === 0)
      return out.line(`No hooks. \`${commandLine('hooks create AGENT TEMPLATE --scheme github')}\` creates one.`)
    printTable(
      hooks,
      [
        { title: 'ID', text: ({ id }) => shortId(id) },
        { title: 'NAME', text: ({ name }) => safeText(name), shrinksTo: 8 },
        { title: 'STATE', text: ({ isPaused }) => (isPaused ? 'paused' : 'active') },
        { title: 'SCHEME', text: ({ scheme }) => scheme },
        { title: 'AGENT', text: ({ agentId }) => shortId(agentId) },
        { title: 'EVENTS', text: ({ events }) => safeText(events?.join(', ') ?? 'all'), shrinksTo: 8 },
        { title: 'TEMPLATE', text: ({ template }) => safeText(template), shrinksTo: 12 },
      ],
      out,
    )
  })

const requireNamed = async (which: string, context: ServiceContext): Promise<Hook> =>
  pickOne(await listHooks(context), which, { prefix: 'hook', noun: 'hook', lister: 'hooks' })

const titleOf = ({ name, id }: Pick<Hook, 'name' | 'id'>): string => (name ? safeText(name) : id)

type CreateFlags = JsonFlag & {
  scheme: string
  secretStdin?: boolean
  signatureHeader?: string
  event?: string[]
  name?: string
  conversation?: string
  perMinute?: string
  model?: string
  onGuarded: string
}

export const create = (
  agent: string,
  template: string,
  { flags, cli }: { flags: CreateFlags; cli: CliContext },
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api, server }) => {
    const { id: agent_id } = await requireAgent(agent, context)
    const { scheme, name, model, onGuarded, conversation, event, signatureHeader, perMinute } = flags
    const body = {
      agent_id,
      template,
      scheme,
      on_guarded: onGuarded,
      ...defined({
        name,
        model,
        conversation_id: conversation,
        events: event,
        signature_header: signatureHeader,
        secret: flags.secretStdin ? await secretFromPipe(process.stdin) : undefined,
        per_minute:
          perMinute === undefined ? undefined : wholeNumber('--per-minute', perMinute, { from: 1, to: 10_000 }),
      }),
    }
    const value = await api.request<{ id: string; path: string; secret: string }>('POST', '/v1/hooks', body)
    const sentence = `Created ${value.id}. Senders post to ${server ?? ''}${value.path}. Its secret, which is not shown again: ${value.secret}`
    printResult(cli, flags, { sentence, value })
  })

type UpdateFlags = JsonFlag & {
  template?: string
  event?: string[]
  allEvents?: boolean
  name?: string
  perMinute?: string
  model?: string
  onGuarded?: string
}

export const update = (which: string, flags: UpdateFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const hook = await requireNamed(which, context)
    const { template, event, allEvents, name, perMinute, model, onGuarded } = flags
    const body = defined({
      template,
      name,
      model,
      events: allEvents ? null : event,
      on_guarded: onGuarded,
      per_minute: perMinute === undefined ? undefined : wholeNumber('--per-minute', perMinute, { from: 1, to: 10_000 }),
    })
    if (Object.keys(body).length === 0)
      throw new Problem('invalid', `Name what to change: \`${commandLine('hooks update --help')}\` lists it.`)
    const value = await api.request('PATCH', `/v1/hooks/${hook.id}`, body)
    printResult(cli, flags, { sentence: `Changed ${titleOf(hook)}.`, value })
  })

const OUTCOME_COLOR: Record<HookDelivery['outcome'], keyof Look['paint']> = {
  accepted: 'green',
  ignored: 'dim',
  refused: 'red',
}

export const deliveries = (which: string, flags: JsonFlag & { limit: string }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const hook = await requireNamed(which, context)
    const limit = wholeNumber('--limit', flags.limit, { from: 1, to: 1_000 })
    const found = await hookDeliveries(hook.id, { limit }, context)
    if (flags.json) return printJson(out, found.map(deliveryJson))
    if (found.length === 0) return out.line('Nothing has come to this hook.')
    const now = context.deps.clock.now()
    printTable(
      found,
      [
        { title: 'AGE', text: ({ receivedAt }) => ageText(now - receivedAt), align: 'right' },
        { title: 'OUTCOME', text: ({ outcome }) => outcome, paint: ({ outcome }) => OUTCOME_COLOR[outcome] },
        { title: 'EVENT', text: ({ event }) => safeText(event ?? '') },
        { title: 'REPEATS', text: ({ repeats }) => String(repeats), align: 'right' },
        { title: 'DELIVERY', text: ({ deliveryId }) => safeText(deliveryId ?? ''), shrinksTo: 8 },
        { title: 'RUN OR REASON', text: ({ runId, reason }) => runId ?? safeText(reason ?? ''), shrinksTo: 16 },
      ],
      out,
    )
  })

type PauseRequest = { flags: JsonFlag; cli: CliContext; verb: 'pause' | 'resume' }

export const setPaused = (which: string, { flags, cli, verb }: PauseRequest): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const hook = await requireNamed(which, context)
    const value = await api.request('POST', `/v1/hooks/${hook.id}/${verb}`)
    const sentence =
      verb === 'pause'
        ? `Paused ${titleOf(hook)} until \`${commandLine(`hooks resume ${hook.id}`)}\`.`
        : `Resumed ${titleOf(hook)}.`
    printResult(cli, flags, { sentence, value })
  })

export const newSecret = (which: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const hook = await requireNamed(which, context)
    const path = `/v1/hooks/${hook.id}/secret`
    const value = await api.request<{ secret: string; previous_valid_until: string }>('POST', path)
    const sentence = `The secret of ${titleOf(hook)}, which is not shown again: ${value.secret}. The one before is accepted until ${value.previous_valid_until}.`
    printResult(cli, flags, { sentence, value })
  })

export const remove = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const hook = await requireNamed(which, context)
    const removal = {
      verb: 'Delete' as const,
      what: `${titleOf(hook)} (${hook.id})`,
      consequence: 'Its log goes with it; its runs stay.',
    }
    if (!(await confirmRemoval(removal, flags, cli))) return
    await api.request('DELETE', `/v1/hooks/${hook.id}`)
    printResult(cli, flags, { sentence: `Deleted ${titleOf(hook)}.`, value: { id: hook.id, deleted: true } })
  })

const hookJson = ({ sealed: _, createdBy, createdAt, ...hook }: Hook) => ({
  ...hook,
  created_by: createdBy.actor,
  created_at: timeJson(createdAt),
})

const deliveryJson = ({ deliveryId, event, outcome, runId, reason, bytes, repeats, receivedAt }: HookDelivery) => ({
  delivery_id: deliveryId ?? null,
  event: event ?? null,
  outcome,
  run_id: runId ?? null,
  reason: reason ?? null,
  bytes,
  repeats,
  received_at: timeJson(receivedAt),
})
