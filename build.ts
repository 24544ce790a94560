import { execFileSync } from 'node:child_process'
import { globSync, rmSync } from 'node:fs'
import { build } from 'esbuild'

/**
 * Makes `dist/` for publishing: JavaScript in few files (Kysely alone is some four hundred, and finding them is most of
 * a cold start: 123 ms against 15), and declarations from tsc. The doors for embedders are app and the verbs.
 */
rmSync('dist', { recursive: true, force: true })
await build({
  entryPoints: [
    'src/main.ts',
    'src/app.ts',
    ...globSync('src/service/*.ts').filter((file) => !file.endsWith('.test.ts')),
  ],
  outdir: 'dist',
  outbase: 'src',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // Have native parts that they look for at run time; loaded only where they are used.
  external: ['pg', 'sharp'],
  // Packages written for `require` still call it inside the bundle.
  banner: { js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)" },
  logLevel: 'warning',
})
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' })
