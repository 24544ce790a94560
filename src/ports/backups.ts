/** Backups of the home that this process has open. */
export type Backups = {
  /** The last backup of this home, or the one it was restored from. */
  last(): Promise<LastBackup | undefined>
  /** Writes a backup beside a running server. Until it is complete and checked, nothing has the name of the file. */
  write(request: BackupRequest): Promise<BackupReport>
}

/** How much a database holds, as `holdfast doctor` counts it. */
export type StoredCounts = { runs: number; conversations: number; messages: number }

/** What `holdfast doctor` finds in a database. */
export type CheckedDatabase = { counts: StoredCounts; violations: string[] }

/** `unreadable`: secrets that the keys of its home cannot decrypt. */
export type CheckedRestoredDatabase = CheckedDatabase & { unreadable: string[]; newestRunAt: number | undefined }

export type LastBackup = { at: number; file: string; bytes: number }

export type BackupRequest = {
  file: string
  /** Version of Holdfast, for the manifest. */
  version: string
  /** Whether an existing file may be replaced. */
  replace: boolean
  withSecretKey: boolean
  withWorkspaces: boolean
}

export type BackupReport = {
  file: string
  bytes: number
  manifest: BackupManifest
  files: number
  /** Entries that are not in the backup, or not as one moment, with the reason. */
  notices: BackupNotice[]
}

export type BackupNotice = { path: string; detail: string }

/** The first entry of a backup. `format` grows when an older Holdfast could not restore the file. */
export type BackupManifest = {
  format: number
  version: string
  created_at: string
  /** With `postgres`, the database is not in the backup. */
  database: 'sqlite' | 'postgres'
  migrations: number
  counts: StoredCounts
  /** Invariants that did not hold in the copied database. */
  violations: string[]
  secret_key: boolean
  workspaces: boolean
}

export type RestoreReport = {
  home: string
  manifest: BackupManifest
  files: number
  counts: StoredCounts
  violations: string[]
  /** What cannot be decrypted without the key file that the backup does not have. */
  unreadable: string[]
  notices: BackupNotice[]
}
