import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { FaultInjector } from './faults.ts'

/**
 * A database whose disk fills up during a transaction: a statement fails after other statements of the same commit.
 * Only writes fail; the checker can still read.
 */
export function onFullDisk(database: DatabaseSync, injector: FaultInjector, isReady: () => boolean): DatabaseSync {
  const strike = (sql: string) => {
    if (!isReady() || !database.isTransaction || !injector.strikes('store-full-midway', sql.split(' ', 3).join(' ')))
      return
    throw Object.assign(new Error('database or disk is full'), { errcode: 13, code: 'ERR_SQLITE_ERROR' })
  }
  const prepare = (sql: string): StatementSync => {
    const statement = database.prepare(sql)
    return /^\s*(insert|update|delete)/i.test(sql) ? striking(statement, () => strike(sql)) : statement
  }
  return new Proxy(database, {
    get(target, key) {
      if (key === 'prepare') return prepare
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** A plain object instead of a proxy, because every statement passes here. */
function striking(statement: StatementSync, strike: () => void): StatementSync {
  const struck = (method: 'run' | 'get' | 'all') => {
    const work = statement[method].bind(statement) as (...parameters: unknown[]) => unknown
    return (...parameters: unknown[]) => {
      strike()
      return work(...parameters)
    }
  }
  const setReturnArrays = statement.setReturnArrays.bind(statement)
  return { run: struck('run'), get: struck('get'), all: struck('all'), setReturnArrays } as unknown as StatementSync
}
