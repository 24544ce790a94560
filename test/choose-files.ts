import { globSync } from 'node:fs'

export type FileSelection = { all: boolean; postgres: boolean; http: boolean; workspaces: boolean }

/** Heavy files take minutes of processor time together; the file next to each tests a part of its promises. */
const isHeavy = (file: string): boolean => file.endsWith('.heavy.test.ts')

/** The heavy files next to it include everything that the slice tests. */
const SLICE = 'test/http/behaviors/slice.test.ts'

export function chooseFiles(choice: FileSelection, names: readonly string[]): string[] {
  const every = globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort()
  const named = names.length > 0 ? every.filter((file) => names.some((name) => file.includes(name))) : every
  if (choice.http) return named.filter((file) => file.startsWith('test/http/') && file !== SLICE)
  if (choice.workspaces) return named.filter((file) => file.startsWith('test/workspaces/'))
  if (choice.postgres) return named.filter((file) => file.includes('postgres'))
  if (choice.all) return named.filter((file) => file !== SLICE)
  return names.length > 0 ? named : named.filter((file) => !isHeavy(file))
}
