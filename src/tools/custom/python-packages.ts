import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { OrganizationId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { mergedRequirements, type PackageSet, withoutPackages } from '../../core/python-requirements.ts'
import { replaceFileSync } from '../../disk/atomic-write.ts'
import type { Clock } from '../../ports/clock.ts'
import type { PythonPackages } from '../../ports/python-packages.ts'
import { installWheels, requirePip } from './install-wheels.ts'

/** The folder in the home with the packages of an organization. A sandbox sees it read-only. */
export const packagesFolder = (home: string, organizationId: OrganizationId): string =>
  join(home, 'tool-packages', organizationId)

const lockFile = (folder: string): string => join(folder, 'lock.json')

/**
 * The packages in a home. Each set is a folder of its own, named by its contents, and the lock file names the set in use:
 * calls that run keep the set they began with. An operator can change the set while the server runs.
 */
export function newPythonPackages(home: string, { clock }: { clock: Pick<Clock, 'now'> }): PythonPackages {
  const folderOf = (organizationId: OrganizationId) => packagesFolder(home, organizationId)

  const change: PythonPackages['add'] = async (organizationId, { names, index, findLinks }) =>
    install(organizationId, (before) => mergedRequirements(before, names), { names, index, findLinks })

  async function install(
    organizationId: OrganizationId,
    wanted: (before: readonly string[]) => string[],
    { names, index, findLinks }: Parameters<PythonPackages['add']>[1],
  ): Promise<PackageSet> {
    const folder = folderOf(organizationId)
    const before = await readLock(folder)
    const requirements = wanted(before?.requirements ?? [])
    const python = await requirePip()
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const temporary = join(folder, `.making-${randomBytes(6).toString('hex')}`)
    try {
      // A package that the request does not name keeps its version.
      const constraints = withoutPackages(before?.packages ?? [], names)
      const packages = await installWheels(temporary, { requirements, constraints, index, findLinks })
      const id = randomBytes(8).toString('hex')
      const set: PackageSet = { id, python, requirements, packages, createdAt: clock.now() }
      await rename(join(temporary, 'packages'), join(folder, id))
      if ((await readLock(folder))?.id !== before?.id)
        throw new Problem('conflict', 'The packages were changed at the same time. Nothing was changed: try again.')
      replaceFileSync(lockFile(folder), `${JSON.stringify(set, null, 2)}\n`)
      await removeOthers(folder, [id, before?.id])
      return set
    } finally {
      await rm(temporary, { recursive: true, force: true })
    }
  }

  return {
    of: async (organizationId) => readLock(folderOf(organizationId)),
    add: change,
    remove: (organizationId, request) =>
      install(organizationId, (before) => withoutNames(before, request.names), request),
  }
}

function withoutNames(before: readonly string[], names: readonly string[]): string[] {
  const left = mergedRequirements(before, []).filter((one) => !isNamed(one, names))
  if (left.length === before.length)
    throw new Problem('not-found', `None of these packages was added: ${names.join(', ')}. See holdfast tools env.`)
  return left
}

const isNamed = (requirement: string, names: readonly string[]): boolean =>
  withoutPackages([{ name: requirement, version: '' }], names).length === 0

/** Calls that began with the set before still use it; older ones are over. */
async function removeOthers(folder: string, kept: readonly (string | undefined)[]): Promise<void> {
  for (const name of await readdir(folder))
    if (/^[0-9a-f]{16}$/.test(name) && !kept.includes(name))
      await rm(join(folder, name), { recursive: true, force: true })
}

async function readLock(folder: string): Promise<PackageSet | undefined> {
  try {
    return JSON.parse(await readFile(lockFile(folder), 'utf8')) as PackageSet
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw fault
  }
}
