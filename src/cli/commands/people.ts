import {
  createOrganization,
  createUser,
  deleteUser,
  listOrganizations,
  listUsers,
} from '../../service/people/people.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { namedOrganization } from '../named-organization.ts'
import { timeJson } from '../run-json.ts'
import { safeText } from '../terminal.ts'

type OrganizationFlags = { organization?: string; json?: boolean }

export const createOrganizationCommand = (name: string, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const made = await createOrganization({ name }, context)
    cli.out.line(`Created ${safeText(made.name)} (${made.id}).`)
    cli.notes.line(`\`holdfast keys create NAME --organization ${made.id} --scope admin\` creates its first key.`)
  })

export const listAllOrganizations = ({ json }: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const all = await listOrganizations(context)
    if (json) return printJson(cli.out, all.map(entityJson))
    for (const thing of all) cli.out.line(entityLine(thing, cli))
  })

export const createUserCommand = (name: string, flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const user = await createUser({ name, ...(await namedOrganization(flags.organization, context)) }, context)
    cli.out.line(`Created ${safeText(user.name)} (${user.id}).`)
  })

export const listAllUsers = (flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const all = await listUsers(await namedOrganization(flags.organization, context), context)
    if (flags.json) return printJson(cli.out, all.map(entityJson))
    if (all.length === 0)
      cli.out.line('No users yet. `holdfast users create NAME` creates one; a key does not need a user.')
    for (const thing of all) cli.out.line(entityLine(thing, cli))
  })

export const removeUser = (id: string, flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    await deleteUser({ id, ...(await namedOrganization(flags.organization, context)) }, context)
    cli.out.line(`Removed ${id}. Its keys are revoked; their open connections close within a second.`)
  })

type NamedEntity = { id: string; name: string; createdAt: number }

const entityLine = ({ id, name }: NamedEntity, { out }: CliContext): string =>
  `${out.look.paint.bold(safeText(name).padEnd(20))} ${id}`

const entityJson = ({ id, name, createdAt }: NamedEntity) => ({ id, name, created_at: timeJson(createdAt) })
