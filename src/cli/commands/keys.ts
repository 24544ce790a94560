import { defined } from '../../core/defined.ts'
import { DAY_MS } from '../../core/duration.ts'
import { type ApiKey, keyState, SCOPES, type Scope } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import { createKey, listKeys, revokeKey } from '../../service/people/keys.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { namedOrganization } from '../named-organization.ts'
import { pickOne } from '../pick-one.ts'
import { printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { ageText } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { safeName } from '../terminal.ts'

type KeyFlags = { organization?: string; json?: boolean }

type CreateFlags = KeyFlags & { scope: string; user?: string; days?: string }

/** Prints only the key to stdout, so that it can be piped to a file or a secret store unseen. */
export const create = (name: string, flags: CreateFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out, notes } = cli
    const { user, days } = flags
    const expiresAt = days === undefined ? undefined : context.deps.clock.now() + DAY_MS * parseDays(days)
    const request = {
      name,
      scope: parseScope(flags.scope),
      ...(await namedOrganization(flags.organization, context)),
      ...defined({ userId: user || undefined, expiresAt }),
    }
    const { key, secret } = await createKey(request, context)
    if (flags.json) return printJson(out, { ...keyJson(key, context.deps.clock.now()), key: secret })
    out.line(secret)
    notes.line(
      `${key.id} (${safeName(key.name)}) can ${SCOPE_TEXT[key.scope]}. Save the key now: it is shown only once.`,
    )
    notes.line(`\`${commandLine(`keys revoke ${key.id}`)}\` revokes it and closes its open connections.`)
  })

export const listAll = (flags: KeyFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const now = context.deps.clock.now()
    const keys = await listKeys(await namedOrganization(flags.organization, context), context)
    if (flags.json)
      return printJson(
        out,
        keys.map((key) => keyJson(key, now)),
      )
    if (keys.length === 0)
      out.line(`No API keys besides the key of this home. \`${commandLine('keys create NAME')}\` creates one.`)
    else
      printTable(
        keys,
        [
          { title: 'NAME', text: ({ name }) => name, paint: 'bold', shrinksTo: 12 },
          { title: 'ID', text: ({ id }) => id, short: ({ id }) => shortId(id) },
          { title: 'SCOPE', text: ({ scope }) => scope },
          { title: 'KEY', text: ({ prefix }) => `${prefix}…` },
          { title: 'STATE', text: (key) => keyState(key, now) },
          { title: 'EXPIRES', text: (key) => expiryText(key, now) },
        ],
        out,
      )
  })

const expiryText = ({ expiresAt }: ApiKey, now: number): string => {
  if (expiresAt === undefined) return 'never'
  return expiresAt > now ? `in ${ageText(expiresAt - now)}` : `${ageText(now - expiresAt)} ago`
}

export const revoke = (which: string, flags: KeyFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const where = await namedOrganization(flags.organization, context)
    // A revoked key may have the name of a newer one.
    const keys = await listKeys(where, context)
    const named = keys.filter(({ name, revokedAt }) => name === which && revokedAt === undefined)
    const { id } = named.length === 1 ? named[0]! : pickOne(keys, which, { prefix: 'key', noun: 'key', lister: 'keys' })
    const key = await revokeKey({ id, ...where }, context)
    printResult(cli, flags, {
      sentence: `Revoked ${key.id} (${safeName(key.name)}). Its open connections close within a second.`,
      value: keyJson(key, context.deps.clock.now()),
    })
  })

const SCOPE_TEXT: Record<Scope, string> = {
  read: 'read everything and change nothing',
  approve: 'read everything and decide the calls that wait for approval',
  agent: 'use agents, and not approve their calls',
  tools: 'read everything and bring tools as source',
  'agent approve': 'use agents and approve their calls',
  'agent tools': 'use agents and bring tools as source',
  'agent approve tools': 'use agents, approve their calls and bring tools as source',
  admin: 'do everything, including creating keys',
}

function parseScope(text: string): Scope {
  const scope = SCOPES.find((one) => one === text.replaceAll(/[\s,+]+/g, ' ').trim())
  if (scope) return scope
  throw new Problem('invalid', `--scope must be one of ${SCOPES.map((one) => `"${one}"`).join(', ')}, not "${text}".`)
}

function parseDays(text: string): number {
  const days = Number(text)
  if (days > 0 && days <= 36_600) return days
  throw new Problem('invalid', `--days must be a number above 0 and at most 36600, not "${text}".`)
}

const keyJson = (key: ApiKey, now: number) => ({
  id: key.id,
  name: key.name,
  scope: key.scope,
  prefix: key.prefix,
  state: keyState(key, now),
  organization_id: key.organizationId,
  user_id: key.userId ?? null,
  created_at: timeJson(key.createdAt),
  expires_at: key.expiresAt === undefined ? null : timeJson(key.expiresAt),
  revoked_at: key.revokedAt === undefined ? null : timeJson(key.revokedAt),
})
