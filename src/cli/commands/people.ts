import {
  createOrganization,
  createUser,
  deleteUser,
  listOrganizations,
  listUsers,
} from '../../service/people/people.ts'
import { type Context, printJson, withApp } from '../context.ts'
import { namedOrganization } from '../named-organization.ts'
import { timeJson } from '../run-json.ts'
import { safeText } from '../terminal.ts'

type Where = { organization?: string; json?: boolean }

export const createAnOrganization = (name: string, context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk }) => {
    const made = await createOrganization({ name }, desk)
    context.out.line(`Created ${safeText(made.name)} (${made.id}).`)
    context.notes.line(`\`holdfast keys create NAME --organization ${made.id} --scope admin\` lets somebody in.`)
  })

export const listAllOrganizations = ({ json }: Where, context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk }) => {
    const all = await listOrganizations(desk)
    if (json) return printJson(context.out, all.map(thingJson))
    for (const thing of all) context.out.line(lineOf(thing, context))
  })

export const createAUser = (name: string, flags: Where, context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk }) => {
    const user = await createUser({ name, ...(await namedOrganization(flags.organization, desk)) }, desk)
    context.out.line(`Created ${safeText(user.name)} (${user.id}).`)
  })

export const listAllUsers = (flags: Where, context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk }) => {
    const all = await listUsers(await namedOrganization(flags.organization, desk), desk)
    if (flags.json) return printJson(context.out, all.map(thingJson))
    if (all.length === 0) context.out.line('No users yet. Keys need none; `holdfast users create NAME` makes one.')
    for (const thing of all) context.out.line(lineOf(thing, context))
  })

export const removeUser = (id: string, flags: Where, context: Context): Promise<void> =>
  withApp(context, 'guest', async ({ desk }) => {
    await deleteUser({ id, ...(await namedOrganization(flags.organization, desk)) }, desk)
    context.out.line(`Removed ${id}. Its keys are revoked; what they held open ends within a second.`)
  })

type Thing = { id: string; name: string; createdAt: number }

const lineOf = ({ id, name }: Thing, { out }: Context): string =>
  `${out.look.paint.bold(safeText(name).padEnd(20))} ${id}`

const thingJson = ({ id, name, createdAt }: Thing) => ({ id, name, created_at: timeJson(createdAt) })
