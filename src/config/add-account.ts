import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import yaml from 'yaml'
import type { AccountSettings } from '../core/gateway/settings.ts'
import { Problem } from '../core/problem.ts'
import { replaceFileSync } from '../disk/atomic-write.ts'
import type { Environment } from '../ports/environment.ts'
import { parseConfigFile } from './config-file.ts'
import { gatewayAccounts } from './gateway-settings.ts'
import { homePath } from './home.ts'

export type NewAccount = { name: string; values: Readonly<Record<string, string>> }

type PreparedAccount = {
  /** The settings that the account will have. */
  settings: AccountSettings
  file: string
  /** Writes config.yaml: comments and everything else in it stay as they are. */
  write(): void
}

/** An account for `gateway` of config.yaml, checked before anything is written. */
export function prepareAccount({ name, values }: NewAccount, environment: Environment): PreparedAccount {
  const file = join(homePath(environment.HOLDFAST_HOME?.trim()), 'config.yaml')
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  requireUsable(file, parseConfigFile(before).faults)
  const document = yaml.parseDocument(before)
  const known = document.get('gateway')
  if (yaml.isMap(known) && known.has(name))
    throw new Problem('conflict', `${file} has an account "${name}" already. Choose another --name, or edit the file.`)
  document.setIn(['gateway', name], document.createNode(values))
  const after = document.toString({ lineWidth: 0 })
  const { config, faults } = parseConfigFile(after)
  requireUsable('This account', faults)
  const { gateway: accounts = {}, toolsets = {} } = config
  const settings = gatewayAccounts({ accounts, toolsets, environment })[name]
  if (!settings) throw new Error(`the account ${name} is missing in its own configuration`)
  return {
    settings,
    file,
    // A link to the file stays one.
    write: () => replaceFileSync(existsSync(file) ? realpathSync(file) : file, after),
  }
}

function requireUsable(what: string, faults: string[]): void {
  if (faults.length > 0) throw new Problem('invalid', [`${what} cannot be used.`, ...faults].join('\n  '), { faults })
}
