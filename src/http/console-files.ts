import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

type ConsoleFile = { type: string; text: Buffer; gzip: Buffer; tag: string }

const TYPES: Record<string, string> = {
  'index.html': 'text/html; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'main.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

/** In the package the files lie beside the code; in a checkout they are bundled in memory, from the folder `console`. */
const BUILT = fileURLToPath(new URL('console/', import.meta.url))
const BUNDLER = new URL('../../console/bundle.ts', import.meta.url)

type Bundler = { bundleConsole(): Promise<{ files: Record<string, string> }> }

let files: Promise<Map<string, ConsoleFile>> | undefined

/** Undefined: the console has no file with this name. */
export async function consoleFile(name: string): Promise<ConsoleFile | undefined> {
  files ??= loadFiles()
  return (await files).get(name)
}

async function loadFiles(): Promise<Map<string, ConsoleFile>> {
  const texts = existsSync(`${BUILT}index.html`) ? readBuilt() : await bundleNow()
  return new Map(
    Object.entries(texts).map(([name, content]) => {
      const text = Buffer.from(content)
      return [name, { type: TYPES[name]!, text, gzip: gzipSync(text), tag: `"${hash('sha256', text).slice(0, 16)}"` }]
    }),
  )
}

const readBuilt = (): Record<string, string> =>
  Object.fromEntries(Object.keys(TYPES).map((name) => [name, readFileSync(`${BUILT}${name}`, 'utf8')]))

/** The address is a value: the bundler of the package must not follow it. */
async function bundleNow(): Promise<Record<string, string>> {
  const { bundleConsole } = (await import(String(BUNDLER))) as Bundler
  return (await bundleConsole()).files
}
