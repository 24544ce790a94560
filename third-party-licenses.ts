import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

type Manifest = { name: string; version: string; license?: string }

/** Writes the licenses of the packages these files are from: what is bundled is distributed, and its license goes with it. */
export function writeThirdPartyLicenses(files: readonly string[], target: string): void {
  const sections = packageFolders(files).map((folder) => {
    const { name, version, license = 'no license named' } = manifestOf(folder)
    return `${name} ${version} (${license})\n\n${licenseText(folder) ?? 'The package has no license file.'}`
  })
  const rule = `\n\n${'-'.repeat(80)}\n\n`
  writeFileSync(target, [`Packages that are bundled in Holdfast, with their licenses.`, ...sections].join(rule) + '\n')
}

/** The folders of the packages these files are from, in order. */
export const packageFolders = (files: readonly string[]): string[] =>
  [...new Set(files.flatMap((file) => packageFolder(resolve(file)) ?? []))].sort()

const packageFolder = (file: string): string | undefined => /^.*node_modules\/(?:@[^/]+\/)?[^/.][^/]*/.exec(file)?.[0]

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

function licenseText(folder: string): string | undefined {
  const name = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  return name && readFileSync(join(folder, name), 'utf8').trim()
}
