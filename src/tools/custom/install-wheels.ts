import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { InstalledPackage } from '../../core/python-requirements.ts'

const run = promisify(execFile)

/** The Python that sandboxes see. */
const PYTHON = '/usr/bin/python3'
const INSTALL_MS = 15 * 60_000

/** Of the operator's environment: how pip reaches its index. */
const PASSED = /^(PATH|HOME|LANG|(https?|no|all)_proxy|PIP_.*|SSL_CERT_.*|REQUESTS_CA_BUNDLE)$/i

type InstallOptions = {
  requirements: readonly string[]
  constraints: readonly InstalledPackage[]
  index: string | undefined
  findLinks: string | undefined
}

/** The version of the Python that tools run with. */
export async function requirePip(): Promise<string> {
  try {
    const { stdout } = await run(PYTHON, ['-m', 'pip', '--version'])
    return /\(python ([\d.]+)\)/.exec(stdout)?.[1] ?? ''
  } catch {
    throw new Problem(
      'unavailable',
      `${PYTHON} -m pip does not work here, so no package can be installed. Install Python with pip (apt-get install python3-pip).`,
    )
  }
}

/**
 * Installs into `folder/packages`. Only wheels: installing one runs no code of the package, which would run with the
 * rights of the operator.
 */
export async function installWheels(folder: string, options: InstallOptions): Promise<InstalledPackage[]> {
  const { requirements, constraints, index, findLinks } = options
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const target = join(folder, 'packages')
  await mkdir(target)
  if (requirements.length === 0) return []
  const report = join(folder, 'report.json')
  const pins = join(folder, 'constraints.txt')
  await writeFile(pins, constraints.map(({ name, version }) => `${name}==${version}\n`).join(''))
  const parameters = [
    ...['-m', 'pip', 'install', '--only-binary=:all:', '--no-input', '--disable-pip-version-check', '--quiet'],
    ...['--target', target, '--report', report, '--constraint', pins],
    ...(index === undefined ? [] : ['--index-url', index]),
    ...(findLinks === undefined ? [] : ['--find-links', findLinks]),
    ...['--', ...requirements],
  ]
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED.test(name)))
  try {
    await run(PYTHON, parameters, { env: environment, timeout: INSTALL_MS, maxBuffer: 16 * 1024 * 1024, cwd: folder })
  } catch (fault) {
    const { stderr = '', message } = fault as Error & { stderr?: string }
    throw new Problem('invalid', `Nothing was changed. pip says: ${reasonIn(stderr) || message}`)
  }
  return readReport(await readFile(report, 'utf8'))
}

/** The errors of pip, without its warnings. */
const reasonIn = (stderr: string): string =>
  stderr
    .split('\n')
    .filter((line) => line.startsWith('ERROR: '))
    .map((line) => line.slice('ERROR: '.length))
    .join(' ')
    .slice(0, 1_000)

type Report = {
  install: {
    metadata: { name: string; version: string }
    download_info?: { archive_info?: { hash?: string; hashes?: { sha256?: string } } }
  }[]
}

function readReport(text: string): InstalledPackage[] {
  const { install } = JSON.parse(text) as Report
  return install
    .map(({ metadata: { name, version }, download_info }) => {
      const archive = download_info?.archive_info
      const sha256 = archive?.hashes?.sha256 ?? archive?.hash?.replace(/^sha256=/, '')
      return { name, version, ...defined({ sha256 }) }
    })
    .sort((one, other) => one.name.localeCompare(other.name))
}
