import type * as zod from 'zod/mini'
import { PLATFORM_IDS } from '../core/gateway/platforms.ts'
import type { TargetHandle } from '../core/target.ts'

/** zod is a parameter, so that a process without any configuration never loads it. */
type Zod = typeof zod

/** The type of a setting: its description, its schema and its parser for environment variables. */
export type SettingKind<Value> = {
  /** Completes "must be …". */
  expected: string
  schema(z: Zod): zod.ZodMiniType<Value, Value>
  /** Absent if an environment variable cannot hold the value. The schema validates the result. */
  fromText?(text: string): unknown
}

export function wholeNumber(from: number, to = Number.MAX_SAFE_INTEGER): SettingKind<number> {
  const expected =
    to === Number.MAX_SAFE_INTEGER ? `a whole number, at least ${from}` : `a whole number from ${from} to ${to}`
  const error = mustBe(expected)
  return {
    expected,
    fromText: toNumber,
    schema: (z) => z.int({ error }).check(z.gte(from, { error }), z.lte(to, { error })),
  }
}

export function numberUpTo(to: number): SettingKind<number> {
  const expected = `a number above 0, up to ${to}`
  const error = mustBe(expected)
  return {
    expected,
    fromText: toNumber,
    schema: (z) => z.number({ error }).check(z.gt(0, { error }), z.lte(to, { error })),
  }
}

export function numberBetween({ min, max }: { min: number; max: number }): SettingKind<number> {
  const expected = `a number from ${min} to ${max}`
  const error = mustBe(expected)
  return {
    expected,
    fromText: toNumber,
    schema: (z) => z.number({ error }).check(z.gte(min, { error }), z.lte(max, { error })),
  }
}

export const trueOrFalse: SettingKind<boolean> = {
  expected: 'true or false',
  fromText: (text) => (text === 'true' || text === 'false' ? text === 'true' : text),
  schema: (z) => z.boolean({ error: mustBe('true or false') }),
}

export function oneOf<const Word extends string>(words: readonly Word[]): SettingKind<Word> {
  const expected = joinWithOr(words.map((word) => `"${word}"`))
  return { expected, fromText: asIs, schema: (z) => z.enum(words, { error: mustBe(expected) }) }
}

export const anyText: SettingKind<string> = {
  expected: 'text',
  fromText: asIs,
  schema: (z) => z.string({ error: mustBe('text') }),
}

export const modelHandle: SettingKind<TargetHandle> = {
  expected: 'a model handle, written provider/model',
  fromText: asIs,
  schema: (z) =>
    z.templateLiteral([z.string().check(z.regex(/^[^/]+$/)), '/', z.string().check(z.minLength(1))], {
      error: mustBe('a model handle, written provider/model'),
    }),
}

export const httpUrl = textLike(/^https?:\/\//, 'a URL that begins with http:// or https://')

/** `fetch` refuses a URL with a password, and a path is added to it. */
export const plainHttpUrl = textLike(
  /^https?:\/\/[^\s@?#/]+(\/[^\s?#]*)?$/,
  'a URL such as http://127.0.0.1:4318, without user, query and fragment',
)

/** As browsers send it: no path and no default port. `*` is refused: any page could then use a key that it finds. */
export const origin: SettingKind<string> = {
  ...textLike(
    /^https?:\/\/([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?$/,
    'an origin such as https://app.example.com or http://localhost:3000, without a path; `*` is not possible',
  ),
  fromText: (text) => text.toLowerCase(),
}

/** A relative path would depend on where the server was started. A shell expands `~`; a service file does not. */
export const absolutePath = textLike(/^(~?\/|~$)/, 'an absolute path that begins with / or ~/')

/** A domain or all its subdomains, with a port unless it is 80 or 443. IP addresses are not allowed. */
export const domain: SettingKind<string> = {
  ...textLike(
    /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9](:[1-9][0-9]{0,4})?$/,
    'a domain such as example.com, *.example.com or example.com:8443',
  ),
  fromText: (text) => text.toLowerCase(),
}

/** As in a Host header, without a port. */
export const hostName: SettingKind<string> = {
  ...textLike(/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])$/, 'a host name or address such as agents.example.com'),
  fromText: (text) => text.toLowerCase(),
}

export const hostAndPort = textLike(/^[a-z0-9.-]+:[1-9][0-9]{0,4}$/, 'a host with its port, such as wiki.internal:443')

/** The value is never in an error message: it contains a password. */
export const postgresUrl: SettingKind<string> = {
  expected: 'like postgres://user:password@host:5432/database',
  fromText: asIs,
  schema(z) {
    const isPostgres = (text: string) =>
      URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol)
    return z.string().check(
      z.refine(isPostgres, {
        error: 'must look like postgres://user:password@host:5432/database; unset it for SQLite',
      }),
    )
  },
}

/** In an environment variable the entries are separated by commas. */
export function listOf<Value>(kind: SettingKind<Value>): SettingKind<Value[]> {
  const { fromText = asIs } = kind
  return {
    expected: `a list; each entry is ${kind.expected}`,
    fromText: (text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== '')
        .map(fromText),
    schema: (z) => z.array(kind.schema(z), { error: mustBe('a list') }),
  }
}

/** The operator chooses the keys. Environment variables cannot hold it. */
export function mapOf<Value>(kind: SettingKind<Value>): SettingKind<Record<string, Value>> {
  return {
    expected: `a mapping; each value is ${kind.expected}`,
    schema: (z) => z.record(z.string(), kind.schema(z), { error: mustBe('a mapping') }),
  }
}

/** Headers often contain keys, so an error message never contains a value. */
export const headerText: SettingKind<string> = {
  ...anyText,
  schema: (z) => z.string({ error: 'must be text in quotes' }),
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e]*$/
const HEADER_LIST = 'names of headers with printable text, in a variable written name=value,name=value'

/** A mapping; a variable has the form of OpenTelemetry, in which values may be percent-encoded. */
export const headerList: SettingKind<Record<string, string>> = {
  expected: HEADER_LIST,
  fromText: (text) =>
    Object.fromEntries(
      text
        .split(',')
        .filter((entry) => entry.trim() !== '')
        .map((entry) => {
          const [name = '', ...value] = entry.split('=')
          return [name.trim(), value.length === 0 ? undefined : decoded(value.join('=').trim())]
        }),
    ),
  schema: (z) =>
    z.record(z.string().check(z.regex(HEADER_NAME)), z.string().check(z.regex(HEADER_VALUE)), {
      error: `must be ${HEADER_LIST}`,
    }),
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A setting that belongs to one of several entries, so that no variable could name it. */
export function inFileOnly<Value>({ expected, schema }: SettingKind<Value>): SettingKind<Value> {
  return { expected, schema }
}

const idPattern = `^(${PLATFORM_IDS.map(({ pattern }) => pattern).join('|')}|\\*)$`
const idExamples = joinWithOr([...new Set(PLATFORM_IDS.map(({ example }) => example))])
const ID_TEXT = `an id, such as ${idExamples}; a name can be taken over by another person`

/** An id of a person or a chat. YAML reads it as a number. */
export const platformId: SettingKind<string | number> = {
  expected: ID_TEXT,
  schema: (z) =>
    z.union([z.int(), z.string().check(z.regex(new RegExp(idPattern)))], {
      error: mustBe(ID_TEXT),
    }),
}

/** As the key of a mapping, where YAML reads it as text. */
export const platformIdKey: SettingKind<string> = textLike(new RegExp(idPattern), ID_TEXT)

/** The error message of a schema: names the expected and the actual value. */
export function mustBe(expected: string) {
  return ({ input }: { input?: unknown }): string => `must be ${expected}, not ${describeValue(input)}`
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a mapping'
  if (value === null || value === undefined) return 'empty'
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

function textLike(pattern: RegExp, expected: string): SettingKind<string> {
  const error = mustBe(expected)
  return { expected, fromText: asIs, schema: (z) => z.string({ error }).check(z.regex(pattern, { error })) }
}

function joinWithOr(words: string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

function asIs(text: string): string {
  return text
}

/** Text that is not a number stays text, so that the error can show it. */
function toNumber(text: string): number | string {
  const value = Number(text)
  return Number.isNaN(value) ? text : value
}
