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

/** The key on stdout and nothing else there, so that it can be put where it belongs without being seen. */
export const create = (name: string, flags: CreateFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context: serviceContext }) => {
    const { out, notes } = cli
    const { user, days } = flags
    const expiresAt = days === undefined ? undefined : serviceContext.deps.clock.now() + DAY_MS * parseDays(days)
    const request = {
      name,
      scope: parseScope(flags.scope),
      ...(await namedOrganization(flags.organization, serviceContext)),
      ...defined({ userId: user || undefined, expiresAt }),
    }
    const { key, secret } = await createKey(request, serviceContext)
    if (flags.json) return printJson(out, { ...keyJson(key, serviceContext.deps.clock.now()), key: secret })
    out.line(secret)
    notes.line(`${key.id} (${safeText(key.name)}) may ${SCOPE_TEXT[key.scope]}. It is shown once: keep it now.`)
    notes.line(`\`holdfast keys revoke ${key.id}\` ends it, and what it holds open.`)
  })

export const listAll = (flags: KeyFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context: serviceContext }) => {
    const { out } = cli
    const now = serviceContext.deps.clock.now()
    const keys = await listKeys(await namedOrganization(flags.organization, serviceContext), serviceContext)
    if (flags.json)
      return printJson(
        out,
        keys.map((key) => keyJson(key, now)),
      )
    if (keys.length === 0) out.line('No keys but the one of the home. `holdfast keys create NAME` makes one.')
    for (const key of keys)
      out.line(
        `${out.look.paint.bold(safeText(key.name).padEnd(20))} ${key.id}  ${key.scope.padEnd(5)}  ${key.prefix}…  ${keyState(key, now)}`,
      )
  })

export const revoke = (id: string, flags: KeyFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context: serviceContext }) => {
    const key = await revokeKey(
      { id, ...(await namedOrganization(flags.organization, serviceContext)) },
      serviceContext,
    )
    cli.out.line(`Revoked ${key.id} (${safeText(key.name)}). What it held open ends within a second.`)
  })

const SCOPE_TEXT: Record<Scope, string> = {
  read: 'read everything and change nothing',
  agent: 'work with agents',
  admin: 'do everything, and make keys',
}

function parseScope(text: string): Scope {
  const scope = SCOPES.find((one) => one === text)
  if (scope) return scope
  throw new Problem('invalid', `--scope is one of ${SCOPES.join(', ')}, not "${text}".`)
}

function parseDays(text: string): number {
  const days = Number(text)
  if (days > 0 && days <= 36_600) return days
  throw new Problem('invalid', `--days is a number above 0, not "${text}".`)
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
