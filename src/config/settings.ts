import { totalmem } from 'node:os'
import type { Durability } from '../core/durability.ts'
import { Problem } from '../core/problem.ts'
import { isTargetHandle, type TargetHandle } from '../core/target.ts'
import type { Environment } from '../ports/environment.ts'
import { homePath } from './home.ts'

export type Settings = {
  home: string
  durability: Durability
  /** PostgreSQL; absent means SQLite in the home. */
  databaseUrl?: string
  /** The embedding model of agents that name none; comes before that of config.yaml. */
  embedding?: TargetHandle
  maxRunningTurns: number
  maxSteps: number
  maxDurationMs: number
  approvalTtlMs: number
  /** How long the stream of a run can be read after its end. Messages stay. */
  streamsKeptMs: number
  /** What is kept of conversations between their turns; with no entries everything is read again. */
  cache: { entries: number; bytes: number; idleMs: number }
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const MEGABYTE = 1024 * 1024

/** A tenth of what this process may use: of the machine, or of the limit it was given. */
const shareOfMemory = (): number => Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 10

/** Settings from the environment. All mistakes are told at once, so that one start is enough to mend them. */
export function readSettings(environment: Environment): Settings {
  const faults: string[] = []
  const read = <T>(name: string, parse: (text: string) => T | Fault, otherwise: T): T => {
    const text = environment[name]?.trim()
    if (!text) return otherwise
    const value = parse(text)
    if (!(value instanceof Fault)) return value
    faults.push(`${name} ${value.sentence}`)
    return otherwise
  }

  const databaseUrl = read<string | undefined>('DATABASE_URL', postgresUrl, undefined)
  const embedding = read<TargetHandle | undefined>('HOLDFAST_EMBEDDING', handle, undefined)
  const settings: Settings = {
    home: homePath(environment.HOLDFAST_HOME?.trim()),
    durability: read('HOLDFAST_DURABILITY', durability, 'strict'),
    ...(databaseUrl ? { databaseUrl } : {}),
    ...(embedding ? { embedding } : {}),
    maxRunningTurns: read('HOLDFAST_MAX_RUNNING_TURNS', wholeNumber(1, 10_000), 64),
    maxSteps: read('HOLDFAST_MAX_STEPS', wholeNumber(1, 10_000), 50),
    // Upper ends: a week for a run and a year for an approval; more is a slip of the keyboard.
    maxDurationMs: MINUTE_MS * read('HOLDFAST_MAX_RUN_MINUTES', numberUpTo(7 * 24 * 60), 60),
    approvalTtlMs: DAY_MS * read('HOLDFAST_APPROVAL_DAYS', numberUpTo(366), 7),
    streamsKeptMs: DAY_MS * read('HOLDFAST_STREAM_DAYS', numberUpTo(3660), 7),
    cache: {
      entries: read('HOLDFAST_CACHE_ENTRIES', wholeNumber(0, 1_000_000), 128),
      bytes: MEGABYTE * read('HOLDFAST_CACHE_MB', numberUpTo(1_000_000), shareOfMemory() / MEGABYTE),
      idleMs: MINUTE_MS * read('HOLDFAST_CACHE_IDLE_MINUTES', numberUpTo(7 * 24 * 60), 60),
    },
  }
  if (faults.length > 0)
    throw new Problem('invalid', `The environment has settings that cannot be used. ${faults.join(' ')}`, { faults })
  return settings
}

class Fault {
  readonly sentence: string
  constructor(sentence: string) {
    this.sentence = sentence
  }
}

const durability = (text: string): Durability | Fault =>
  text === 'strict' || text === 'relaxed' ? text : new Fault(`is "${text}"; it must be "strict" or "relaxed".`)

const handle = (text: string): TargetHandle | Fault =>
  isTargetHandle(text) ? text : new Fault(`is "${text}"; it must look like provider/model.`)

/** The value is never repeated: it holds a password. */
function postgresUrl(text: string): string | Fault {
  const isPostgres = URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol)
  return isPostgres
    ? text
    : new Fault('must look like postgres://user:password@host:5432/database; unset it for SQLite.')
}

const wholeNumber = (from: number, to: number) => (text: string) => {
  const value = Number(text)
  if (Number.isInteger(value) && value >= from && value <= to) return value
  return new Fault(`is "${text}"; it must be a whole number from ${from} to ${to}.`)
}

const numberUpTo = (to: number) => (text: string) => {
  const value = Number(text)
  if (value > 0 && value <= to) return value
  return new Fault(`is "${text}"; it must be a number above 0, up to ${to}.`)
}
