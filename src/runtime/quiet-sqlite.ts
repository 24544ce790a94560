/**
 * Takes the place of `node:sqlite` in the built package. A static import of the built-in module is resolved before any
 * code runs: an older Node.js would fail there with a stack trace, and Node.js 22 prints an ExperimentalWarning.
 * Here it is loaded when this file is evaluated, and exactly that warning is dropped.
 */
const sqlite = withoutSqliteWarning(() => process.getBuiltinModule('node:sqlite'))

export const { DatabaseSync, backup } = sqlite

function withoutSqliteWarning<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (!String(warning).startsWith('SQLite is an experimental feature'))
      Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}
