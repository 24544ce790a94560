import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OrganizationId } from '../../core/id.ts'
import type { PackageSet } from '../../core/python-requirements.ts'
import type { PythonPackages } from '../../ports/python-packages.ts'

/** Folder of all packages in the home; each organization has its own below it. */
const PACKAGES_FOLDER = 'tool-packages'

export const packagesFolder = (home: string, organizationId: OrganizationId): string =>
  join(home, PACKAGES_FOLDER, organizationId)

const lockFile = (folder: string): string => join(folder, 'lock.json')

/** The packages in a home. An operator can change them while the server runs. */
export function newPythonPackages(home: string): PythonPackages {
  return { of: async (organizationId) => readLock(packagesFolder(home, organizationId)) }
}

async function readLock(folder: string): Promise<PackageSet | undefined> {
  try {
    return JSON.parse(await readFile(lockFile(folder), 'utf8')) as PackageSet
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw fault
  }
}
