import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const inProcess = promisify(execFile)

/** The tarball `npm publish` would upload, in this folder: npm builds it first. */
export async function packInto(folder: string): Promise<string> {
  const { stdout } = await inProcess('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT })
  return join(folder, stdout.trim().split('\n').at(-1)!)
}

/** Installs packages, by name or as a tarball, in a new folder without others. */
export async function npmInstall(folder: string, packages: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
  // One retry: an unreachable registry is detected within seconds.
  const options = ['--no-audit', '--no-fund', '--fetch-retries=1', '--fetch-retry-mintimeout=1000']
  await inProcess('npm', ['install', ...options, ...packages], { cwd: folder })
}

/** As `npmInstall`; returns the reason to skip a test if the registry cannot be reached or lacks a package. */
export async function tryNpmInstall(folder: string, packages: readonly string[]): Promise<string | false> {
  return npmInstall(folder, packages).then(
    () => false,
    () => `npm cannot install ${packages.join(' and ')} here`,
  )
}
