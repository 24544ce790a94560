/** The folder in a backup; below it the manifest comes first, then the home, then the checksums. */
export const ARCHIVE_FOLDER = 'holdfast-backup'
export const MANIFEST = `${ARCHIVE_FOLDER}/manifest.json`
export const ARCHIVED_HOME = `${ARCHIVE_FOLDER}/home`
/** In the format of `sha256sum`, for every file of the home; it also shows that the archive is complete. */
export const CHECKSUMS = `${ARCHIVE_FOLDER}/SHA256SUMS`

/** A backup with a higher format was written by a newer Holdfast. */
export const FORMAT = 1

/** One line of `SHA256SUMS`. `sha256sum` marks a name with a line break or a backslash by a leading backslash. */
export function checksumLine(path: string, hash: string): string {
  const name = path.slice(ARCHIVE_FOLDER.length + 1)
  if (!/[\n\r\\]/.test(name)) return `${hash}  ${name}\n`
  return `\\${hash}  ${name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}\n`
}
