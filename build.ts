import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { build } from 'esbuild'

/**
 * Makes `dist/`, or the folder that is named, for publishing: JavaScript in few files (Kysely alone is some four hundred, and finding them is most of
 * a cold start: 123 ms against 15), and declarations from tsc. The doors are the command and, for programs that
 * have Holdfast inside them, embedded and ai-sdk.
 */
const target = process.argv[2] ?? 'dist'
rmSync(target, { recursive: true, force: true })
// Each on its own: what one process never loads of the other would only cut its code into more files to find.
for (const door of ['src/main.ts', 'src/embedded.ts', 'src/ai-sdk.ts'])
  await build({
    entryPoints: [door],
    outdir: target,
    outbase: 'src',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Have native parts that they look for at run time; loaded only where they are used.
    external: ['pg', 'sharp'],
    // Packages written for `require` still call it inside the bundle.
    banner: {
      js: "import { createRequire } from 'node:module'\nconst require = (name) => createRequire(import.meta.url)(name)",
    },
    // Compiling the text is most of what is left of a cold start; names stay, for whoever reads a trace.
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'warning',
  })
// What keeps a workspace runs inside its sandbox, which sees this folder of ours and nothing else.
await build({
  entryPoints: [{ in: 'src/workspaces/supervisor/main.ts', out: 'supervisor/main' }],
  outdir: target,
  // No package.json is beside it there to say what it is.
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
})
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', target], { stdio: 'inherit' })
