import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'

const COMMON: BuildOptions = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // Compiling the text is most of what is left of a cold start; names stay, for whoever reads a trace.
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
}

/** JavaScript in few files: Kysely alone is some four hundred, and finding them is most of a cold start (123 ms against 15). */
export async function bundle(doors: readonly string[], target: string): Promise<void> {
  rmSync(target, { recursive: true, force: true })
  // Each on its own: what one process never loads of the other would only cut its code into more files to find.
  for (const door of doors)
    await build({
      ...COMMON,
      entryPoints: [door],
      outdir: target,
      outbase: 'src',
      splitting: true,
      // Have native parts that they look for at run time; loaded only where they are used.
      external: ['pg', 'sharp'],
      // Packages written for `require` still call it inside the bundle.
      banner: {
        js: "import { createRequire } from 'node:module'\nconst require = (name) => createRequire(import.meta.url)(name)",
      },
    })
  await bundleSupervisor(`${target}/supervisor`)
}

/** The supervisor of workspaces as one file, `main.mjs`. The sandbox it runs in sees its folder and nothing else of Holdfast. */
export async function bundleSupervisor(target: string): Promise<void> {
  await build({
    ...COMMON,
    entryPoints: [join(import.meta.dirname, 'src/workspaces/supervisor/main.ts')],
    outdir: target,
    // No package.json is beside it there to say what it is.
    outExtension: { '.js': '.mjs' },
  })
}
