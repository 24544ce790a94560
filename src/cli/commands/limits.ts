import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { withHome } from '../home-session.ts'
import { namedOrganization } from '../named-organization.ts'
import { printFields, printTable } from '../render/table.ts'

type LimitsFlags = { organization?: string; json?: boolean }

/** The answer of `GET /v1/limits`. */
type Limits = {
  organization_id: string
  limits: Limit[]
  models: string[] | null
  provider_keys: string[] | null
  own_keys: string[]
  unpriced: { model: string; tokens: number }[]
}

type Limit = { name: string; of: 'organization' | 'key'; unit: string; limit: number | null; used: number | null }

export const showLimits = (flags: LimitsFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const { organizationId } = await namedOrganization(flags.organization, context)
    const query = organizationId ? `?organization_id=${organizationId}` : ''
    print(await api.request<Limits>('GET', `/v1/limits${query}`), flags, cli)
  })

type ChangeFlags = LimitsFlags & { models?: string; providerKeys?: string }

/** `NAME=NUMBER` sets a limit, `NAME=default` returns it to the default of the server. */
export const changeLimits = (assignments: readonly string[], flags: ChangeFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const { organizationId = 'default' } = await namedOrganization(flags.organization, context)
    const body = {
      limits: Object.fromEntries(assignments.map(parseAssignment)),
      ...defined({
        models: flags.models === undefined ? undefined : namesIn(flags.models),
        provider_keys: flags.providerKeys === undefined ? undefined : namesIn(flags.providerKeys),
      }),
    }
    print(await api.request<Limits>('PATCH', `/v1/organizations/${organizationId}/limits`, body), flags, cli)
  })

function parseAssignment(text: string): [string, number | null] {
  const [name = '', value = ''] = text.split('=', 2)
  if (value === 'default') return [name, null]
  const number = Number(value)
  if (value !== '' && Number.isInteger(number) && number >= 0) return [name, number]
  throw new Problem('invalid', `"${text}" is not a limit. Write NAME=NUMBER, 0 for no limit, or NAME=default.`)
}

const namesIn = (text: string): string[] | null =>
  text === 'all'
    ? null
    : text === 'none'
      ? []
      : text
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '')

function print(shown: Limits, { json }: LimitsFlags, { out }: CliContext): void {
  if (json) {
    printJson(out, shown)
    return
  }
  printTable(
    shown.limits.filter(({ of }) => of === 'organization'),
    [
      { title: 'LIMIT', text: ({ name }) => name, paint: 'bold', shrinksTo: 20 },
      { title: 'USED', text: ({ used }) => (used === null ? '' : numberText(used)), align: 'right' },
      { title: 'OF', text: ({ limit }) => (limit === null ? 'no limit' : numberText(limit)), align: 'right' },
      { title: 'UNIT', text: ({ unit }) => unit },
    ],
    out,
  )
  out.line()
  printFields(
    [
      ['organization', shown.organization_id],
      ['models', shown.models ? shown.models.join(', ') || 'none' : 'all'],
      ['keys of the server', shown.provider_keys ? shown.provider_keys.join(', ') || 'none' : 'all'],
      ['keys of its own', shown.own_keys.join(', ') || 'none'],
      [
        'without a known price',
        shown.unpriced.map(({ model, tokens }) => `${model}: ${tokens} tokens today`).join('\n'),
      ],
    ],
    out,
  )
}

const numberText = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 4 })
