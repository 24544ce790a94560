import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { bundleConsole } from './console/bundle.ts'

const COMMON: BuildOptions = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  // The oldest version of `engines`.
  target: 'node22.16',
  // Compiling the text is most of what is left of a cold start; names stay, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
  metafile: true,
}

/** The thread that reads web pages: `page-reader.ts` starts it by its file, so it keeps its name. */
const PAGE_WORKER = { in: join(import.meta.dirname, 'src/tools/web/page-worker.ts'), out: 'page-worker' }

/** The source files of the entry points: the command, and the modules that programs import. */
export type EntryPoints = { command: string; modules?: readonly string[] }

/**
 * JavaScript in few files: Kysely alone is some four hundred, and finding them is most of a cold start (123 ms against 15).
 * Answers with the files that went into it.
 */
export async function bundle({ command, modules = [] }: EntryPoints, target: string): Promise<string[]> {
  rmSync(target, { recursive: true, force: true })
  const names = modules.map((module) => basename(module, '.ts'))
  const { metafile } = await build({
    ...COMMON,
    entryPoints: [
      { in: command, out: basename(command, '.ts') },
      ...modules.map((module, index) => ({ in: module, out: `${names[index]}.code` })),
      PAGE_WORKER,
    ],
    outdir: target,
    splitting: true,
    // sharp is native and optional, loaded where an image has to be resized. pg asks for pg-native only if told to.
    external: ['sharp', 'pg-native'],
    alias: { 'node:sqlite': join(import.meta.dirname, 'src/runtime/quiet-sqlite.ts') },
    // Packages written for `require` still call it inside the bundle.
    banner: {
      js: "import { createRequire } from 'node:module'\nconst require = (name) => createRequire(import.meta.url)(name)",
    },
  })
  const supervisor = await bundleSupervisor(`${target}/supervisor`)
  const console = await writeConsole(`${target}/console`)
  if (names.length > 0) await writeModules(names, target)
  return [...Object.keys(metafile!.inputs), ...supervisor, ...console]
}

/** The console is served from these files. */
async function writeConsole(target: string): Promise<string[]> {
  mkdirSync(target, { recursive: true })
  const { files, inputs } = await bundleConsole()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(target, name), text)
  return inputs
}

/** What a program imports checks the version of Node.js first: imports are evaluated in their order. */
async function writeModules(names: readonly string[], target: string): Promise<void> {
  // Node.js prints the line that throws.
  const readable: BuildOptions = { ...COMMON, minifyWhitespace: false }
  await build({ ...readable, entryPoints: ['src/runtime/require-node.ts'], outdir: target })
  for (const name of names)
    writeFileSync(join(target, `${name}.js`), `import './require-node.js'\nexport * from './${name}.code.js'\n`)
}

/** The supervisor of workspaces as one file, `main.mjs`, and what starts other programs, `run-program.mjs`. The sandbox it runs in sees its folder and nothing else of Holdfast. */
export async function bundleSupervisor(target: string): Promise<string[]> {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: ['main', 'run-program'].map((name) =>
      join(import.meta.dirname, `src/workspaces/supervisor/${name}.ts`),
    ),
    outdir: target,
    // No package.json is beside it there to say what it is.
    outExtension: { '.js': '.mjs' },
  })
  return Object.keys(metafile!.inputs)
}
