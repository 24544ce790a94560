import { defined } from '../../core/defined.ts'
import { DAY_MS } from '../../core/duration.ts'
import { type ApiKey, keyState, SCOPES, type Scope } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import { createKey, listKeys, revokeKey } from '../../service/people/keys.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { namedOrganization } from '../named-organization.ts'
import { timeJson } from '../run-json.ts'
import { safeText } from '../terminal.ts'

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
      `${key.id} (${safeText(key.name)}) can ${SCOPE_TEXT[key.scope]}. Save the key now: it is shown only once.`,
    )
    notes.line(`\`holdfast keys revoke ${key.id}\` revokes it and closes its open connections.`)
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
      out.line('No API keys besides the key of this home. `holdfast keys create NAME` creates one.')
    for (const key of keys)
      out.line(
        `${out.look.paint.bold(safeText(key.name).padEnd(20))} ${key.id}  ${key.scope.padEnd(5)}  ${key.prefix}…  ${keyState(key, now)}`,
      )
  })

export const revoke = (id: string, flags: KeyFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const key = await revokeKey({ id, ...(await namedOrganization(flags.organization, context)) }, context)
    cli.out.line(`Revoked ${key.id} (${safeText(key.name)}). Its open connections close within a second.`)
  })

const SCOPE_TEXT: Record<Scope, string> = {
  read: 'read everything and change nothing',
  agent: 'use agents',
  admin: 'do everything, including creating keys',
}

function parseScope(text: string): Scope {
  const scope = SCOPES.find((one) => one === text)
  if (scope) return scope
  throw new Problem('invalid', `--scope must be one of ${SCOPES.join(', ')}, not "${text}".`)
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
