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
  withApp(cli, 'guest', async ({ context: serviceContext }) => {
    const made = await createOrganization({ name }, serviceContext)
    cli.out.line(`Created ${safeText(made.name)} (${made.id}).`)
    cli.notes.line(`\`holdfast keys create NAME --organization ${made.id} --scope admin\` lets somebody in.`)
  })

export const listAllOrganizations = ({ json }: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context: serviceContext }) => {
    const all = await listOrganizations(serviceContext)
    if (json) return printJson(cli.out, all.map(entityJson))
    for (const thing of all) cli.out.line(entityLine(thing, cli))
  })

export const createUserCommand = (name: string, flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context: serviceContext }) => {
    const user = await createUser(
      { name, ...(await namedOrganization(flags.organization, serviceContext)) },
      serviceContext,
    )
    cli.out.line(`Created ${safeText(user.name)} (${user.id}).`)
  })

export const listAllUsers = (flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context: serviceContext }) => {
    const all = await listUsers(await namedOrganization(flags.organization, serviceContext), serviceContext)
    if (flags.json) return printJson(cli.out, all.map(entityJson))
    if (all.length === 0) cli.out.line('No users yet. Keys need none; `holdfast users create NAME` makes one.')
    for (const thing of all) cli.out.line(entityLine(thing, cli))
  })

export const removeUser = (id: string, flags: OrganizationFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context: serviceContext }) => {
    await deleteUser({ id, ...(await namedOrganization(flags.organization, serviceContext)) }, serviceContext)
    cli.out.line(`Removed ${id}. Its keys are revoked; what they held open ends within a second.`)
  })

type NamedEntity = { id: string; name: string; createdAt: number }

const entityLine = ({ id, name }: NamedEntity, { out }: CliContext): string =>
  `${out.look.paint.bold(safeText(name).padEnd(20))} ${id}`

const entityJson = ({ id, name, createdAt }: NamedEntity) => ({ id, name, created_at: timeJson(createdAt) })
