import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

/**
 * One declaration file for each module that programs import, with every type it mentions, those of packages included: a
 * program compiles against it without installing them. Answers with the files that went into them.
 */
export async function writeDeclarations(modules: readonly string[], target: string): Promise<string[]> {
  const inputs: string[] = []
  await withEmittedDeclarations(async (emitted) => {
    for (const module of modules) {
      const name = `${basename(module, '.ts')}.d.ts`
      // Types of packages are inlined; an import that is left would name a package that is not installed.
      const rolled = await rollup({ input: join(emitted, name), plugins: [dts({ respectExternal: true })] })
      await rolled.write({ file: join(target, name) })
      inputs.push(...rolled.watchFiles)
      await rolled.close()
    }
  })
  return inputs
}

/** What tsc emits for the whole source. It is written inside `node_modules`, so that imports of packages are found. */
async function withEmittedDeclarations(work: (emitted: string) => Promise<void>): Promise<void> {
  const caches = resolve('node_modules/.cache')
  mkdirSync(caches, { recursive: true })
  const emitted = mkdtempSync(join(caches, 'holdfast-declarations-'))
  try {
    execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', emitted], { stdio: 'inherit' })
    await work(emitted)
  } finally {
    rmSync(emitted, { recursive: true, force: true })
  }
}
