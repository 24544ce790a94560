import { readFileSync } from 'node:fs'
import type { CredentialId } from '../../core/credential.ts'

/** A variable that may hold keys of a provider. Every use calls `read`, so a changed key file takes effect at once. */
export type EnvironmentSource = { provider: string; variable: string; read(): string | undefined }

export type EnvironmentKey = { id: CredentialId; provider: string; variable: string; secret: string }

const PREFIX = 'credential-env-'

export const isEnvironmentKey = (id: CredentialId): boolean => id.startsWith(PREFIX)

/** A variable may hold several keys, separated by commas. */
export function readEnvironmentKeys(sources: readonly EnvironmentSource[]): EnvironmentKey[] {
  return sources.flatMap(({ provider, variable, read }) => {
    const secrets = (read() ?? '')
      .split(',')
      .map((key) => key.trim())
      .filter(Boolean)
    return [...new Set(secrets)].map((secret, index): EnvironmentKey => {
      const id: CredentialId = index === 0 ? `${PREFIX}${variable}` : `${PREFIX}${variable}-${index + 1}`
      return { id, provider, variable, secret }
    })
  })
}

export type KeyVariable = { provider: string; variable: string }

/** Reads each variable or else the file that `<VARIABLE>_FILE` names. An unreadable file is reported once, as no key. */
export function environmentSources(
  environment: Readonly<Record<string, string | undefined>>,
  variables: readonly KeyVariable[],
  report: (fault: unknown, where: string) => void,
): EnvironmentSource[] {
  return variables.map(({ provider, variable }) => {
    const file = environment[`${variable}_FILE`]
    let isReported = false
    const readFile = (path: string) => {
      try {
        return readFileSync(path, 'utf8')
      } catch (error) {
        if (!isReported) report(error, `reading the key file in ${variable}_FILE`)
        isReported = true
        return undefined
      }
    }
    return { provider, variable, read: () => environment[variable] || (file ? readFile(file) : undefined) }
  })
}
