import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const folder = import.meta.dirname

type BundledConsole = {
  /** By the names under which the server serves them. */
  files: Record<string, string>
  /** The files that went into the script. */
  inputs: string[]
}

export async function bundleConsole(): Promise<BundledConsole> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(folder, 'main.ts')],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox120', 'safari17'],
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
    metafile: true,
  })
  const source = (name: string) => readFileSync(join(folder, name), 'utf8')
  const files = {
    'index.html': source('index.html'),
    'style.css': source('style.css'),
    'icon.svg': source('icon.svg'),
    'main.js': outputFiles[0]!.text,
  }
  return { files, inputs: Object.keys(metafile.inputs) }
}
