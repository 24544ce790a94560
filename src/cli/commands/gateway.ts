import { defined } from '../../core/defined.ts'
import type { Identity } from '../../core/gateway/identity.ts'
import { INBOUND_REASONS, type InboundRow } from '../../core/gateway/inbound.ts'
import type { OutboundRow } from '../../core/gateway/outbound.ts'
import type { Pairing } from '../../core/gateway/pairing.ts'
import { variableNames } from '../../core/gateway/platforms.ts'
import type { ChatSession } from '../../core/gateway/session.ts'
import { listAccounts, type ShownAccount } from '../../service/gateway/accounts.ts'
import { listSessions } from '../../service/gateway/chat-sessions.ts'
import { listIdentities } from '../../service/gateway/identities.ts'
import { listPairings } from '../../service/gateway/pairings.ts'
import { listInbound, listOutbound } from '../../service/gateway/updates.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { withHome } from '../home-session.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { ageText } from '../render/run.ts'
import { printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { type Look, safeName, safeText, shortened } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

type ListFlags = JsonFlag & { account?: string; limit: string }

const filterOf = ({ account, limit }: ListFlags) => ({
  limit: wholeNumber('--limit', limit, { from: 1, to: 1000 }),
  ...defined({ account }),
})

const STATE_PAINT: Record<ShownAccount['state'], keyof Look['paint'] | undefined> = {
  up: 'green',
  connecting: undefined,
  'backing-off': 'yellow',
  conflict: 'red',
  refused: 'red',
  stopped: 'dim',
}

export const accounts = ({ json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const all = await listAccounts(context)
    if (json) return printJson(out, all.map(accountJson))
    if (all.length === 0) {
      out.line(
        `No account is configured. Set one of ${variableNames('token').join(', ')}, or add one under \`gateway\` in config.yaml.`,
      )
      return
    }
    const now = context.deps.clock.now()
    printTable(
      all,
      [
        { title: 'ACCOUNT', text: ({ name }) => safeName(name) },
        { title: 'PLATFORM', text: ({ platform }) => platform },
        { title: 'BOT', text: ({ botName }) => (botName ? `@${safeName(botName)}` : '') },
        { title: 'STATE', text: ({ state }) => state, paint: ({ state }) => STATE_PAINT[state] },
        {
          title: 'ANSWERED',
          text: ({ lastSuccessAt: at }) => (at === undefined ? 'never' : `${ageText(now - at)} ago`),
        },
        { title: 'WAITING', text: ({ pendingInbound, openOutbound }) => `${pendingInbound} in, ${openOutbound} out` },
        { title: 'DETAIL', text: (one) => detailOf(one, now), shrinksTo: 20 },
      ],
      out,
    )
  })

function detailOf({ detail = '', nextTryAt, unknownOutbound }: ShownAccount, now: number): string {
  const next = nextTryAt === undefined || nextTryAt < now ? '' : `next try in ${ageText(nextTryAt - now)}`
  const unknown = unknownOutbound > 0 ? `${unknownOutbound} may not have arrived` : ''
  return [safeText(detail), next, unknown].filter((part) => part !== '').join('; ')
}

export const sessions = (flags: ListFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const all = await listSessions(filterOf(flags), context)
    if (flags.json) return printJson(out, all.map(sessionJson))
    if (all.length === 0) return out.line('No chat has a conversation yet.')
    const now = context.deps.clock.now()
    printTable(
      all,
      [
        { title: 'ACCOUNT', text: ({ account }) => safeText(account) },
        { title: 'CHAT', text: ({ key, title }) => safeText(title ? `${key} (${title})` : key), shrinksTo: 16 },
        { title: 'CONVERSATION', text: ({ conversationId }) => conversationId, shrinksTo: 13 },
        { title: 'LAST', text: ({ lastAt }) => `${ageText(now - lastAt)} ago` },
      ],
      out,
    )
  })

export const inbound = (flags: ListFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const all = await listInbound(filterOf(flags), context)
    if (flags.json) return printJson(out, all.map(inboundJson))
    if (all.length === 0) return out.line('Nothing has arrived yet.')
    const now = context.deps.clock.now()
    printTable(
      all,
      [
        { title: 'WHEN', text: ({ receivedAt }) => `${ageText(now - receivedAt)} ago` },
        { title: 'ACCOUNT', text: ({ account }) => safeText(account) },
        { title: 'CHAT', text: ({ lane }) => safeText(lane) },
        { title: 'FROM', text: ({ senderId = '' }) => safeText(senderId) },
        { title: 'KIND', text: ({ kind }) => kind },
        { title: 'BECAME', text: becameText, shrinksTo: 20 },
      ],
      out,
    )
  })

function becameText({ state, runId, reason, note }: InboundRow): string {
  if (state === 'pending') return safeText(note ? `waits: ${note}` : 'waits')
  const why = reason ? INBOUND_REASONS[reason] : ''
  return runId ? [runId, why].filter((part) => part !== '').join(', ') : why
}

const OUTBOUND_PAINT: Record<OutboundRow['state'], keyof Look['paint'] | undefined> = {
  pending: 'yellow',
  sending: 'yellow',
  sent: 'green',
  unknown: 'red',
  failed: 'red',
}

export const outbound = (flags: ListFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const all = await listOutbound(filterOf(flags), context)
    if (flags.json) return printJson(out, all.map(outboundJson))
    if (all.length === 0) return out.line('Nothing was sent yet.')
    const now = context.deps.clock.now()
    printTable(
      all,
      [
        { title: 'WHEN', text: ({ createdAt }) => `${ageText(now - createdAt)} ago` },
        { title: 'ACCOUNT', text: ({ account }) => safeText(account) },
        { title: 'CHAT', text: ({ chatId }) => safeText(chatId) },
        { title: 'STATE', text: ({ state }) => state, paint: ({ state }) => OUTBOUND_PAINT[state] },
        {
          title: 'TEXT',
          text: ({ body }) => safeText(shortened(body.text.replaceAll(/\s+/g, ' '), 60)),
          shrinksTo: 16,
        },
        { title: 'ERROR', text: ({ error = '', state }) => (state === 'sent' ? '' : safeText(error)), shrinksTo: 10 },
      ],
      out,
    )
  })

export const pairings = ({ json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const all = await listPairings(context)
    if (json) return printJson(out, all.map(pairingJson))
    if (all.length === 0) return out.line('Nobody has asked to talk to a bot yet.')
    const now = context.deps.clock.now()
    printTable(
      all,
      [
        { title: 'ACCOUNT', text: ({ account }) => safeText(account) },
        { title: 'PERSON', text: ({ senderId, name }) => `${safeName(name)} (${safeText(senderId)})`, shrinksTo: 12 },
        { title: 'STATE', text: (one) => pairingState(one, now) },
        { title: 'CODE', text: ({ state, code }) => (state === 'pending' ? (code ?? '') : '') },
      ],
      out,
    )
    if (all.some(({ state }) => state === 'pending'))
      out.line(`Approve a code with \`${commandLine('gateway approve CODE')}\`.`)
  })

function pairingState({ state, expiresAt, approvedBy }: Pairing, now: number): string {
  if (state === 'approved') return `approved by ${approvedBy ?? 'the operator'}`
  if (state === 'refused') return 'was refused'
  return expiresAt !== undefined && expiresAt < now
    ? 'the code has expired'
    : `waits for ${ageText((expiresAt ?? now) - now)}`
}

type WirePairing = { account: string; sender_id: string; name: string }

export const approve = (code: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ api }) => {
    const value = await api.request<WirePairing>('POST', '/v1/gateway/pairings/approve', { code })
    const sentence = `${safeName(value.name)} (${safeText(value.sender_id)}) may talk to ${safeText(value.account)} now.`
    printResult(cli, flags, { sentence, value })
  })

export const revoke = (account: string, person: string, { flags, cli }: PersonFlags): Promise<void> =>
  withHome(cli, 'rows', async ({ api }) => {
    const path = `/v1/gateway/pairings/${encodeURIComponent(account)}/${encodeURIComponent(person)}`
    const value = await api.request<WirePairing>('DELETE', path)
    printResult(cli, flags, { sentence: `${safeName(value.name)} (${safeText(person)}) is a stranger again.`, value })
  })

export const identities = ({ json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const all = await listIdentities(context)
    if (json) return printJson(out, all.map(identityJson))
    if (all.length === 0)
      return out.line('No accounts are linked. A person links two of them with /link in both chats.')
    printTable(
      all,
      [
        { title: 'PERSON', text: ({ personId }) => personId, shrinksTo: 13 },
        { title: 'ACCOUNT', text: ({ account }) => safeText(account) },
        { title: 'NAME', text: ({ senderId, name }) => `${safeName(name)} (${safeText(senderId)})`, shrinksTo: 12 },
      ],
      out,
    )
  })

type PersonFlags = { flags: JsonFlag; cli: CliContext }

export const unlink = (account: string, person: string, { flags, cli }: PersonFlags): Promise<void> =>
  withHome(cli, 'rows', async ({ api }) => {
    const path = `/v1/gateway/identities/${encodeURIComponent(account)}/${encodeURIComponent(person)}`
    const value = await api.request<WirePairing>('DELETE', path)
    const sentence = `${safeName(value.name)} (${safeText(person)}) of ${safeText(account)} is a person of its own again.`
    printResult(cli, flags, { sentence, value })
  })

const identityJson = (one: Identity) => ({
  account: one.account,
  sender_id: one.senderId,
  chat_id: one.chatId,
  person_id: one.personId,
  name: one.name,
  linked_at: timeJson(one.linkedAt),
})

const accountJson = (one: ShownAccount) => ({
  name: one.name,
  platform: one.platform,
  state: one.state,
  detail: one.detail ?? null,
  bot: one.botName ?? null,
  owner: one.owner ?? null,
  last_success_at: timeJson(one.lastSuccessAt),
  next_try_at: timeJson(one.nextTryAt),
  inbound_pending: one.pendingInbound,
  outbound_open: one.openOutbound,
  outbound_unknown: one.unknownOutbound,
  runs_owed: one.openDeliveries,
})

const sessionJson = (one: ChatSession) => ({
  account: one.account,
  key: one.key,
  chat_id: one.chatId,
  thread: one.thread ?? null,
  agent_id: one.agentId,
  conversation_id: one.conversationId,
  last_at: timeJson(one.lastAt),
})

const inboundJson = (one: InboundRow) => ({
  number: one.number,
  account: one.account,
  key: one.key,
  kind: one.kind,
  lane: one.lane,
  sender_id: one.senderId ?? null,
  state: one.state,
  reason: one.reason ?? null,
  waits_for: one.note ?? null,
  run_id: one.runId ?? null,
  received_at: timeJson(one.receivedAt),
})

const outboundJson = (one: OutboundRow) => ({
  number: one.number,
  account: one.account,
  key: one.key,
  chat_id: one.chatId,
  run_id: one.runId ?? null,
  text: one.body.text,
  state: one.state,
  message_id: one.messageId ?? null,
  attempts: one.attempts,
  error: one.error ?? null,
  created_at: timeJson(one.createdAt),
})

const pairingJson = (one: Pairing) => ({
  account: one.account,
  sender_id: one.senderId,
  name: one.name,
  state: one.state,
  code: one.state === 'pending' ? (one.code ?? null) : null,
  expires_at: timeJson(one.expiresAt),
  approved_by: one.approvedBy ?? null,
})
