/**
 * The oldest Node.js 22 whose `node:sqlite` has full-text search and rows as arrays. No Node.js 23 has both; every 24 has.
 * `engines` of package.json says the same.
 */
const OLDEST_MINOR_OF_22 = 16

/** Why this version of Node.js cannot run Holdfast; undefined if it can. */
export function unsupportedNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major >= 24 || (major === 22 && minor >= OLDEST_MINOR_OF_22)) return undefined
  return `Holdfast needs Node.js 22.${OLDEST_MINOR_OF_22} or later (not 23); this is ${version}. Install a newer one from https://nodejs.org.`
}
