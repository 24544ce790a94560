import { Problem } from '../../core/problem.ts'
import type { PackageSet } from '../../core/python-requirements.ts'
import type { PackagesRequest } from '../../ports/python-packages.ts'
import type { ServiceContext } from '../service-context.ts'

/** Python packages of the tools of this organization; undefined where none was added. */
export const findPackages = (context: ServiceContext): Promise<PackageSet | undefined> =>
  context.packages.of(context.organizationId)

export const addPackages = async (request: PackagesRequest, context: ServiceContext): Promise<PackageSet> =>
  context.packages.add(context.organizationId, checkedRequest(request))

export const removePackages = async (request: PackagesRequest, context: ServiceContext): Promise<PackageSet> =>
  context.packages.remove(context.organizationId, checkedRequest(request))

/** A requirement that begins with a hyphen would be an option of pip, and a path or URL is no package of the index. */
function checkedRequest(request: PackagesRequest): PackagesRequest {
  for (const name of request.names)
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?\s*([<>=!~].*)?$/.test(name))
      throw new Problem('invalid', `"${name}" is not a package. Use a name such as requests, or requests==2.32.3.`)
  return request
}
