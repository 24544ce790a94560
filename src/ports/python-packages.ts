import type { OrganizationId } from '../core/id.ts'
import type { PackageSet } from '../core/python-requirements.ts'

/** Python packages that an operator prepared for the tools of an organization. */
export type PythonPackages = {
  /** Undefined where none was added. */
  of(organizationId: OrganizationId): Promise<PackageSet | undefined>
}
