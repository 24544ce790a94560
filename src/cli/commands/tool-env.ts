import type { PackageSet } from '../../core/python-requirements.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { addPackages, findPackages, removePackages } from '../../service/tools/tool-packages.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { namedOrganization } from '../named-organization.ts'
import { commandLine } from '../program-name.ts'
import { printTable } from '../render/table.ts'
import type { Screen } from '../terminal.ts'

type EnvFlags = { organization?: string; json?: boolean }
type InstallFlags = EnvFlags & { index?: string; findLinks?: string }

export const listEnv = (flags: EnvFlags, cli: CliContext): Promise<void> =>
  inOrganization(flags, cli, async (context) => printSet(await findPackages(context), flags, cli.out))

export const addToEnv = (
  names: string[],
  { index, findLinks, ...flags }: InstallFlags,
  cli: CliContext,
): Promise<void> =>
  inOrganization(flags, cli, async (context) => {
    cli.notes.line(`Installing ${names.join(', ')} …`)
    printSet(await addPackages({ names, index, findLinks }, context), flags, cli.out)
  })

export const removeFromEnv = (
  names: string[],
  { index, findLinks, ...flags }: InstallFlags,
  cli: CliContext,
): Promise<void> =>
  inOrganization(flags, cli, async (context) => {
    printSet(await removePackages({ names, index, findLinks }, context), flags, cli.out)
  })

/** The packages are files of this home, so no server is asked. */
const inOrganization = (
  { organization }: EnvFlags,
  cli: CliContext,
  work: (context: ServiceContext) => Promise<void>,
): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) =>
    work(Object.assign({}, context, await namedOrganization(organization, context))),
  )

function printSet(set: PackageSet | undefined, { json }: EnvFlags, out: Screen): void {
  if (json) return void printJson(out, set ?? null)
  if (!set || set.packages.length === 0)
    return void out.line(`No Python packages for tools. Add one with ${commandLine('tools env add NAME')}.`)
  printTable(
    set.packages,
    [
      { title: 'PACKAGE', text: ({ name }) => name, paint: 'bold' },
      { title: 'VERSION', text: ({ version }) => version },
      { title: 'SHA-256', text: ({ sha256 = '' }) => sha256, short: ({ sha256 = '' }) => sha256.slice(0, 12) },
    ],
    out,
  )
  out.line(`For Python ${set.python}. Asked for: ${set.requirements.join(', ')}.`)
}
