import {
  createOrganization,
  createUser,
  deleteUser,
  listOrganizations,
  listUsers,
} from '../../service/people/people.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { namedOrganization } from '../named-organization.ts'
import { pickOne } from '../pick-one.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { ageText } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printFields, printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { safeName } from '../terminal.ts'

type OrganizationFlags = { organization?: string; json?: boolean }

export const createOrganizationCommand = (name: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const made = await createOrganization({ name }, context)
    printResult(cli, flags, { sentence: `Created ${safeName(made.name)} (${made.id}).`, value: entityJson(made) })
    cli.notes.line(
      `\`${commandLine(`keys create NAME --organization ${made.id} --scope admin`)}\` creates its first key.`,
    )
  })

type ErasureReport = {
  agents: number
  workspaces: number
  files: number
  rows: Record<string, number>
  remains: { file: string; why: string }[]
}

export const deleteOrganizationCommand = (
  name: string,
  flags: JsonFlag & { yes?: boolean },
  cli: CliContext,
): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const { organizationId } = await namedOrganization(name, context)
    const what = `the organization ${safeName(name)} (${organizationId})`
    const consequence = 'This deletes its agents with all they have, its keys, users, tools, blocks and its audit log.'
    if (!(await confirmRemoval({ verb: 'Delete', what, consequence }, flags, cli))) return 1
    const report = await api.request<ErasureReport>('DELETE', `/v1/organizations/${organizationId}`)
    printResult(cli, flags, { sentence: `Deleted ${what}.`, value: report })
    if (flags.json) return 0
    const { agents, workspaces, files, rows, remains } = report
    const counts = { agents, workspaces, files, ...rows }
    printFields(
      Object.entries(counts).map(([noun, count]) => [noun.replaceAll('_', ' '), String(count)] as const),
      cli.out,
    )
    for (const { file, why } of remains) cli.notes.line(`Left in the home: ${file} (${why}).`)
    return 0
  })

export const listAllOrganizations = ({ json }: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const all = await listOrganizations(context)
    if (json) return printJson(cli.out, all.map(entityJson))
    printEntities(all, context.deps.clock.now(), cli)
  })

export const createUserCommand = (name: string, flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const user = await createUser({ name, ...(await namedOrganization(flags.organization, context)) }, context)
    printResult(cli, flags, { sentence: `Created ${safeName(user.name)} (${user.id}).`, value: entityJson(user) })
  })

export const listAllUsers = (flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const all = await listUsers(await namedOrganization(flags.organization, context), context)
    if (flags.json) return printJson(cli.out, all.map(entityJson))
    if (all.length === 0)
      cli.out.line(`No users yet. \`${commandLine('users create NAME')}\` creates one; a key does not need a user.`)
    else printEntities(all, context.deps.clock.now(), cli)
  })

export const removeUser = (which: string, flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const where = await namedOrganization(flags.organization, context)
    const { id } = pickOne(await listUsers(where, context), which, { prefix: 'user', noun: 'user', lister: 'users' })
    await deleteUser({ id, ...where }, context)
    printResult(cli, flags, {
      sentence: `Removed ${id}. Its keys are revoked; their open connections close within a second.`,
      value: { id, deleted: true },
    })
  })

type NamedEntity = { id: string; name: string; createdAt: number }

function printEntities(all: readonly NamedEntity[], now: number, { out }: CliContext): void {
  printTable(
    all,
    [
      { title: 'NAME', text: ({ name }) => name, paint: 'bold', shrinksTo: 12 },
      { title: 'ID', text: ({ id }) => id, short: ({ id }) => shortId(id) },
      { title: 'AGE', text: ({ createdAt }) => ageText(now - createdAt) },
    ],
    out,
  )
}

const entityJson = ({ id, name, createdAt }: NamedEntity) => ({ id, name, created_at: timeJson(createdAt) })
