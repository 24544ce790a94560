import type { OrganizationId } from '../core/id.ts'
import type { PackageSet } from '../core/python-requirements.ts'

export type PackagesRequest = {
  /** Requirements to add, such as `requests` or `requests>=2`, or names to remove. */
  names: readonly string[]
  /** URL of a package index. Default: that of pip. */
  index?: string | undefined
  /** Folder or page with wheels. */
  findLinks?: string | undefined
}

/** Python packages that an operator prepared for the tools of an organization. */
export type PythonPackages = {
  /** Undefined where none was added. */
  of(organizationId: OrganizationId): Promise<PackageSet | undefined>
  /** Installs them beside those that are there. Throws a `Problem` that says why nothing was changed. */
  add(organizationId: OrganizationId, request: PackagesRequest): Promise<PackageSet>
  remove(organizationId: OrganizationId, request: PackagesRequest): Promise<PackageSet>
}
