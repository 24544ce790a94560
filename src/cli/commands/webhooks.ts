import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import { type DeliveryState, deliveryState, type Webhook, type WebhookState } from '../../core/webhook.ts'
import type { StoredDelivery } from '../../ports/webhook-store.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { listDeliveries, listWebhooks } from '../../service/webhooks/webhooks.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { pickOne } from '../pick-one.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { ageText } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { type Look, safeText } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

const STATE_COLOR: Record<WebhookState, keyof Look['paint']> = { active: 'green', paused: 'yellow', disabled: 'red' }

const DELIVERY_COLOR: Record<DeliveryState, keyof Look['paint']> = { due: 'yellow', delivered: 'green', failed: 'red' }

export const listAll = (flags: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const webhooks = await listWebhooks(context)
    if (flags.json) return printJson(out, webhooks.map(webhookJson))
    if (webhooks.length === 0)
      return out.line(`No webhooks. \`${commandLine('webhooks create URL --event run.ended')}\` creates one.`)
    const now = context.deps.clock.now()
    printTable(
      webhooks,
      [
        { title: 'ID', text: ({ id }) => shortId(id) },
        { title: 'NAME', text: ({ name }) => safeText(name), shrinksTo: 8 },
        { title: 'STATE', text: ({ state }) => state, paint: ({ state }) => STATE_COLOR[state] },
        {
          title: 'FAILING',
          text: ({ failingSince: since }) => (since === undefined ? '' : `for ${ageText(now - since)}`),
        },
        { title: 'EVENTS', text: ({ events }) => events.join(', '), shrinksTo: 12 },
        { title: 'URL', text: ({ url }) => safeText(url), shrinksTo: 16 },
      ],
      out,
    )
    for (const { id, name, state, stateReason } of webhooks)
      if (state === 'disabled')
        out.line(
          `${safeText(name) || id} is disabled: ${safeText(stateReason ?? '')} \`${commandLine(`webhooks resume ${id}`)}\` resumes it.`,
        )
  })

const requireNamed = async (which: string, context: ServiceContext): Promise<Webhook> =>
  pickOne(await listWebhooks(context), which, { prefix: 'webhook', noun: 'webhook', lister: 'webhooks' })

const titleOf = ({ name, id }: Pick<Webhook, 'name' | 'id'>): string => (name ? safeText(name) : id)

export const create = (
  url: string,
  { flags, cli }: { flags: JsonFlag & { event: string[]; name?: string }; cli: CliContext },
): Promise<void> =>
  withHome(cli, 'rows', async ({ api }) => {
    const { event: events, name } = flags
    const value = await api.request<{ id: string; secret: string }>('POST', '/v1/webhooks', {
      url,
      events,
      ...defined({ name }),
    })
    const sentence = `Created ${value.id}. Its secret, which is not shown again: ${value.secret}`
    printResult(cli, flags, { sentence, value })
  })

export const test = (which: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api, server }) => {
    const webhook = await requireNamed(which, context)
    const value = await api.request<{ number: number }>('POST', `/v1/webhooks/${webhook.id}/test`)
    const where = server ? '' : ` It is sent while a server runs: \`${commandLine('serve')}\`.`
    const result = `\`${commandLine(`webhooks deliveries --webhook ${webhook.id}`)}\` shows what became of it.`
    printResult(cli, flags, { sentence: `Delivery ${value.number} is due.${where} ${result}`, value })
  })

export const deliveries = (
  flags: JsonFlag & { webhook?: string; state?: string; limit: string },
  cli: CliContext,
): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const limit = wholeNumber('--limit', flags.limit, { from: 1, to: 1_000 })
    const webhookId = flags.webhook === undefined ? undefined : (await requireNamed(flags.webhook, context)).id
    const filter = defined({ webhookId, state: flags.state === undefined ? undefined : stateNamed(flags.state) })
    const found = await listDeliveries(filter, { limit }, context)
    if (flags.json) return printJson(out, found.map(deliveryJson))
    if (found.length === 0) return out.line('No deliveries.')
    const now = context.deps.clock.now()
    printTable(
      found,
      [
        { title: 'NUMBER', text: ({ number }) => String(number), align: 'right' },
        { title: 'EVENT', text: ({ type }) => type },
        { title: 'STATE', text: (one) => deliveryState(one), paint: (one) => DELIVERY_COLOR[deliveryState(one)] },
        { title: 'ATTEMPTS', text: ({ tries }) => String(tries), align: 'right' },
        { title: 'AGE', text: ({ createdAt }) => ageText(now - createdAt), align: 'right' },
        { title: 'ABOUT', text: ({ runId, eventId }) => runId ?? eventId, shrinksTo: 12 },
        { title: 'ERROR', text: ({ error }) => safeText(error ?? ''), shrinksTo: 16 },
      ],
      out,
    )
  })

function stateNamed(text: string): DeliveryState {
  if (text in DELIVERY_COLOR) return text as DeliveryState
  throw new Problem('invalid', `--state must be due, delivered or failed, not "${text.slice(0, 40)}".`)
}

export const redeliver = (number: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ api }) => {
    const named = wholeNumber('<number>', number, { from: 1, to: Number.MAX_SAFE_INTEGER })
    const value = await api.request<{ number: number }>('POST', `/v1/webhook-deliveries/${named}/redeliver`)
    printResult(cli, flags, { sentence: `Delivery ${value.number} is due again.`, value })
  })

type StateRequest = { flags: JsonFlag; cli: CliContext; verb: 'pause' | 'resume' }

export const setState = (which: string, { flags, cli, verb }: StateRequest): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const webhook = await requireNamed(which, context)
    const value = await api.request('POST', `/v1/webhooks/${webhook.id}/${verb}`)
    const sentence =
      verb === 'pause'
        ? `Paused ${titleOf(webhook)} until \`${commandLine(`webhooks resume ${webhook.id}`)}\`.`
        : `Resumed ${titleOf(webhook)}. \`${commandLine('webhooks deliveries --state failed')}\` lists what it missed.`
    printResult(cli, flags, { sentence, value })
  })

export const newSecret = (which: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const webhook = await requireNamed(which, context)
    const path = `/v1/webhooks/${webhook.id}/secret`
    const value = await api.request<{ secret: string; previous_valid_until: string }>('POST', path)
    const sentence = `The secret of ${titleOf(webhook)}, which is not shown again: ${value.secret}. The one before signs too until ${value.previous_valid_until}.`
    printResult(cli, flags, { sentence, value })
  })

export const remove = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const webhook = await requireNamed(which, context)
    const removal = {
      verb: 'Delete' as const,
      what: `${titleOf(webhook)} (${webhook.id})`,
      consequence: 'Its deliveries go with it, those that are due too.',
    }
    if (!(await confirmRemoval(removal, flags, cli))) return
    await api.request('DELETE', `/v1/webhooks/${webhook.id}`)
    printResult(cli, flags, { sentence: `Deleted ${titleOf(webhook)}.`, value: { id: webhook.id, deleted: true } })
  })

const webhookJson = ({ sealed: _, createdBy, createdAt, failingSince, restUntil: __, ...webhook }: Webhook) => ({
  ...webhook,
  created_by: createdBy.actor,
  created_at: timeJson(createdAt),
  failing_since: failingSince === undefined ? null : timeJson(failingSince),
})

const deliveryJson = (delivery: StoredDelivery) => ({
  number: delivery.number,
  webhook_id: delivery.webhookId ?? null,
  event_id: delivery.eventId,
  type: delivery.type,
  run_id: delivery.runId ?? null,
  state: deliveryState(delivery),
  attempts: delivery.tries,
  status_code: delivery.statusCode ?? null,
  error: delivery.error ?? null,
  created_at: timeJson(delivery.createdAt),
})
