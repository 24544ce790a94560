import { readFileSync, writeFileSync } from 'node:fs'
import { defined } from './src/core/defined.ts'
import { packageFolders } from './third-party-licenses.ts'

type Manifest = { name: string; version: string; license?: string; description?: string }
type Lock = { packages: Record<string, { version?: string; integrity?: string }> }

/**
 * Writes the software bill of materials (CycloneDX) of a build: the packages whose files are bundled, each with the hash
 * that the lock file requires. Equal builds have equal bills.
 */
export function writeBillOfMaterials(files: readonly string[], target: string): void {
  const own = manifestIn('.')
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock
  const components = packageFolders(files).map((folder) => {
    const { name, version, license } = manifestIn(folder)
    const locked = lock.packages[folder.slice(folder.indexOf('node_modules/'))]
    if (locked?.version !== version)
      throw new Error(
        `${name} ${version} is bundled, and package-lock.json has ${locked?.version ?? 'no version of it'}`,
      )
    return {
      type: 'library',
      'bom-ref': purlOf(name, version),
      name,
      version,
      purl: purlOf(name, version),
      ...defined({ licenses: license === undefined ? undefined : [{ expression: license }] }),
      hashes: hashesOf(locked.integrity, name),
    }
  })
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': purlOf(own.name, own.version),
        name: own.name,
        version: own.version,
        purl: purlOf(own.name, own.version),
      },
    },
    components,
    dependencies: [
      { ref: purlOf(own.name, own.version), dependsOn: components.map((component) => component['bom-ref']) },
    ],
  }
  writeFileSync(target, `${JSON.stringify(bill, undefined, 2)}\n`)
}

const manifestIn = (folder: string): Manifest => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as Manifest

const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`

function hashesOf(integrity: string | undefined, name: string): { alg: string; content: string }[] {
  const digest = /^sha512-(.+)$/.exec(integrity ?? '')?.[1]
  if (digest === undefined) throw new Error(`package-lock.json has no SHA-512 of ${name}`)
  return [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }]
}
