import { defined } from './defined.ts'
import type { Json } from './json.ts'

export type InstalledPackage = { name: string; version: string; sha256?: string }

/** The packages of one organization, installed together. */
export type PackageSet = {
  /** Names the folder with the packages; another set has another id. */
  id: string
  /** Version of the Python they were installed for. */
  python: string
  /** As they were asked for. */
  requirements: string[]
  packages: InstalledPackage[]
  createdAt: number
}

/** Requirements of a tool as clients send them: `[{ name, version? }]`; others are ignored. */
function parseRequirements(value: Json | undefined): { name: string; version?: string }[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((one) => {
    if (one === null || typeof one !== 'object' || Array.isArray(one) || typeof one.name !== 'string') return []
    const version = typeof one.version === 'string' ? one.version : ''
    return [{ name: one.name, ...defined({ version: version || undefined }) }]
  })
}

/** The requirements that a set does not meet, as pip writes them. Versions are compared as the client gives them: exactly. */
export function unmetRequirements(value: Json | undefined, set: PackageSet | undefined): string[] {
  return parseRequirements(value).flatMap(({ name, version }) => {
    const found = set?.packages.find((one) => normalizedName(one.name) === normalizedName(name))
    if (found && (version === undefined || meetsVersion(found.version, version))) return []
    const wanted = version === undefined ? name : /^[<>=!~]/.test(version) ? `${name}${version}` : `${name}==${version}`
    return [found ? `${wanted} (${found.version} is installed)` : wanted]
  })
}

/** The list with these requirements; a new one replaces that of the same package. */
export function mergedRequirements(before: readonly string[], added: readonly string[]): string[] {
  const names = new Set(added.map(packageOf))
  return [...before.filter((one) => !names.has(packageOf(one))), ...added].sort()
}

export function withoutPackages(packages: readonly InstalledPackage[], names: readonly string[]): InstalledPackage[] {
  const removed = new Set(names.map(packageOf))
  return packages.filter(({ name }) => !removed.has(packageOf(name)))
}

/** The package of a requirement such as `requests[socks]>=2`. */
const packageOf = (requirement: string): string => normalizedName(/^[A-Za-z0-9._-]*/.exec(requirement)?.[0] ?? '')

/** PEP 503. */
const normalizedName = (name: string): string => name.toLowerCase().replaceAll(/[-_.]+/g, '-')

/** Understands `==`, `>=`, `<=`, `>`, `<`, `!=` and `~=` of release numbers; a plain version is `==`. */
function meetsVersion(installed: string, wanted: string): boolean {
  return wanted.split(',').every((part) => {
    const [, operator = '==', version = ''] = /^\s*(==|>=|<=|>|<|!=|~=)?\s*(.*?)\s*$/.exec(part) ?? []
    const order = compareVersions(installed, version)
    if (operator === '~=') {
      const prefix = version.split('.').slice(0, -1).join('.')
      return order >= 0 && (installed === prefix || installed.startsWith(`${prefix}.`))
    }
    return COMPARISONS[operator as keyof typeof COMPARISONS](order)
  })
}

const COMPARISONS = {
  '==': (order: number) => order === 0,
  '!=': (order: number) => order !== 0,
  '>=': (order: number) => order >= 0,
  '<=': (order: number) => order <= 0,
  '>': (order: number) => order > 0,
  '<': (order: number) => order < 0,
}

function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split('.').map((part) => Number.parseInt(part, 10) || 0))
  for (let at = 0; at < Math.max(left!.length, right!.length); at++) {
    const difference = (left![at] ?? 0) - (right![at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
