import { isAbsolute, join } from 'node:path'
import { Problem } from '../core/problem.ts'
import type { Environment } from '../ports/environment.ts'
import type { Containment, WorkspaceQuota } from '../ports/workspaces.ts'
import { homePath } from './home.ts'

export type WorkspaceSettings = {
  /** Where they lie, one folder for each conversation that has one. */
  folder: string
  containment: Containment
  quota: WorkspaceQuota
  /** Domains that commands may reach; with none there is no way out at all. */
  egress: readonly string[]
}

/** By the names of config.yaml. */
export type WorkspaceConfig = {
  sandbox?: Containment
  folder?: string
  disk_mb?: number
  memory_mb?: number
  processes?: number
  egress?: string[]
}

type Amount = { variable: string; usual: number; from: number; to: number; says: string }

/** Below the lower ends nothing useful runs; above the upper ones it is a slip of the keyboard. */
export const AMOUNTS: Record<'disk_mb' | 'memory_mb' | 'processes', Amount> = {
  disk_mb: {
    ...{ variable: 'HOLDFAST_WORKSPACE_DISK_MB', usual: 1_024, from: 16, to: 1_048_576 },
    says: 'megabytes a workspace may have on disk',
  },
  memory_mb: {
    ...{ variable: 'HOLDFAST_WORKSPACE_MEMORY_MB', usual: 1_024, from: 128, to: 1_048_576 },
    says: 'megabytes of memory for all that runs in a workspace',
  },
  processes: {
    ...{ variable: 'HOLDFAST_WORKSPACE_PROCESSES', usual: 128, from: 8, to: 32_768 },
    says: 'processes at once in a workspace',
  },
}

export const CONTAINMENTS: readonly Containment[] = ['bubblewrap', 'local']

/** A name, or all names below one, and a port that is not of the web. Addresses are none: nobody vouches for them. */
export const DOMAIN =
  '^(\\*\\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z][a-z0-9-]{0,61}[a-z0-9](:[1-9][0-9]{0,4})?$'

/** A shell expands `~`, a service file does not; what is neither would depend on where the server was started. */
export const FOLDER = '^(~?/|~$)'

const MEGABYTE = 1024 * 1024

/** Each from the environment, else from config.yaml, else as usual. All mistakes are told at once. */
export function readWorkspaceSettings(
  environment: Environment,
  { home, configured }: { home: string; configured: WorkspaceConfig },
): WorkspaceSettings {
  const faults: string[] = []
  const said = (variable: string): string => environment[variable]?.trim() ?? ''

  function amount(name: keyof typeof AMOUNTS): number {
    const { variable, usual, from, to } = AMOUNTS[name]
    const text = said(variable)
    if (text === '') return configured[name] ?? usual
    const value = Number(text)
    if (Number.isInteger(value) && value >= from && value <= to) return value
    faults.push(`${variable} is "${text}"; it must be a whole number from ${from} to ${to}.`)
    return usual
  }

  function containment(): Containment {
    const text = said('HOLDFAST_SANDBOX')
    if (text === '') return configured.sandbox ?? 'bubblewrap'
    const known = CONTAINMENTS.find((one) => one === text)
    if (known) return known
    faults.push(`HOLDFAST_SANDBOX is "${text}"; it must be "bubblewrap" or "local".`)
    return 'bubblewrap'
  }

  function egress(): string[] {
    const text = said('HOLDFAST_EGRESS')
    const domains = text === '' ? (configured.egress ?? []) : text.split(',').map((one) => one.trim().toLowerCase())
    const named = domains.filter((domain) => domain !== '')
    for (const domain of named)
      if (!new RegExp(DOMAIN).test(domain))
        faults.push(`HOLDFAST_EGRESS has "${domain}"; write domains as example.com or *.example.com, with commas.`)
    return named
  }

  function folder(): string {
    const text = said('HOLDFAST_WORKSPACES') || configured.folder
    if (!text) return join(home, 'workspaces')
    const path = homePath(text)
    if (new RegExp(FOLDER).test(text) && isAbsolute(path)) return path
    faults.push(`HOLDFAST_WORKSPACES is "${text}"; it must be a whole path, from / or ~/ on.`)
    return path
  }

  const settings: WorkspaceSettings = {
    folder: folder(),
    containment: containment(),
    quota: {
      diskBytes: MEGABYTE * amount('disk_mb'),
      memoryBytes: MEGABYTE * amount('memory_mb'),
      processes: amount('processes'),
    },
    egress: egress(),
  }
  if (faults.length > 0)
    throw new Problem('invalid', `The environment has settings that cannot be used. ${faults.join(' ')}`, { faults })
  return settings
}
