import { Problem } from '../core/problem.ts'
import type { BackupManifest } from '../ports/backups.ts'
import { FORMAT } from './archive-layout.ts'
import { DamagedArchive } from './read-archive.ts'

type Acceptance = { file: string; migrations: number; database: BackupManifest['database'] }

/** The manifest of a backup that this version can restore with this database; otherwise it throws. */
export function parseManifest(text: string, { file, migrations, database }: Acceptance): BackupManifest {
  const manifest = parse(text)
  if (manifest.format > FORMAT || manifest.migrations > migrations)
    throw new Problem(
      'invalid',
      `${file} was written by Holdfast ${manifest.version}, which is newer. Use that version.`,
    )
  if (manifest.database === database) return manifest
  throw new Problem(
    'invalid',
    manifest.database === 'sqlite'
      ? `${file} has its own SQLite database, but DATABASE_URL names PostgreSQL. Unset DATABASE_URL to restore it.`
      : `${file} has no database: it was made with PostgreSQL. Restore that first, and set DATABASE_URL to it.`,
  )
}

function parse(text: string): BackupManifest {
  try {
    const manifest = JSON.parse(text) as BackupManifest
    if (isManifest(manifest)) return { ...manifest, version: String(manifest.version).slice(0, 40) }
  } catch {
    // Reported below, like a manifest with other fields.
  }
  throw new DamagedArchive('its manifest is damaged')
}

const isManifest = (value: BackupManifest | null): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Number.isInteger(value.format) &&
  Number.isInteger(value.migrations) &&
  typeof value.version === 'string' &&
  Number.isFinite(Date.parse(value.created_at)) &&
  ['sqlite', 'postgres'].includes(value.database) &&
  typeof value.workspaces === 'boolean' &&
  typeof value.secret_key === 'boolean'
