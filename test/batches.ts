import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const BATCH_FOLDER = 'node_modules/.cache/holdfast-test-batches'

/** Small enough that a run does not end on one long batch, large enough to share the cost of loading. */
const FILES_PER_BATCH = 6

/** Heavy files, and files named `*.alone.test.ts`, which need their own process. */
const isAlone = (file: string): boolean => /\.(heavy|alone)\.test\.ts$/.test(file)

/**
 * Files of one folder share processes, a few in each: loading the product takes longer than most files do. A batch is a
 * file that imports its members, so that each test is still reported under the file that declares it.
 */
export function inBatches(files: readonly string[]): string[] {
  rmSync(BATCH_FOLDER, { recursive: true, force: true })
  mkdirSync(BATCH_FOLDER, { recursive: true })
  const folders = Object.groupBy(
    files.filter((file) => !isAlone(file)),
    (file) => file.split('/').slice(0, 2).join('-').replace('.test.ts', ''),
  )
  return [
    ...files.filter(isAlone),
    ...Object.entries(folders).flatMap(([folder, members = []]) => batchesOf(folder, members)),
  ]
}

function batchesOf(folder: string, members: readonly string[]): string[] {
  const count = Math.ceil(members.length / FILES_PER_BATCH)
  return Array.from({ length: count }, (_, batch) => {
    const entry = join(BATCH_FOLDER, `${folder}-${batch + 1}.test.mjs`)
    // Every count-th file: files with similar names often take similarly long.
    const mine = members.filter((_, index) => index % count === batch)
    writeFileSync(entry, mine.map((file) => `import ${JSON.stringify(resolve(file))}\n`).join(''))
    return entry
  })
}
