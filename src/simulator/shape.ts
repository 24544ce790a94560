/** One thing that is wrong in a document: where, and what was expected there. */
export type Complaint = { path: string; expected: string; found: string }

/** Looks at a value that may be anything; without complaints it is a T. */
export type Shape<T> = { readonly expected: string; check(value: unknown, path: string): Complaint[]; readonly is?: T }

type Fields<T> = { [Name in keyof T]-?: Shape<NonNullable<T[Name]>> }

export const text: Shape<string> = simple('text', (value) => typeof value === 'string')
export const truth: Shape<boolean> = simple('true or false', (value) => typeof value === 'boolean')
/** JSON.parse gives nothing else. */
export const anything: Shape<never> = simple('anything', () => true)
export const whole = (least: number): Shape<number> =>
  simple(`a whole number from ${least}`, (value) => Number.isInteger(value) && (value as number) >= least)
export const oneOf = <T extends string>(...words: readonly T[]): Shape<T> =>
  simple(`one of ${words.map((word) => `"${word}"`).join(', ')}`, (value) => words.includes(value as T))

/** Every field of T has its shape here, so that none is forgotten; those in `required` must be there. */
export function object<T>(fields: Fields<T>, required: (keyof T & string)[] = []): Shape<T> {
  const names = Object.keys(fields) as (keyof T & string)[]
  const expected =
    required.length > 0 ? `an object with ${required.map((name) => `"${name}"`).join(', ')}` : 'an object'
  return {
    expected,
    check(value, path) {
      if (!isObject(value)) return [complaint(path, expected, value)]
      const missing = required.filter((name) => value[name] === undefined)
      const inner = Object.entries(value).flatMap(([name, field]) => {
        const at = `${path}.${name}`
        if (!Object.hasOwn(fields, name)) return [complaint(at, `no such field; there are ${names.join(', ')}`, field)]
        return fields[name as keyof T].check(field, at)
      })
      return [...missing.map((name) => complaint(`${path}.${name}`, fields[name].expected, undefined)), ...inner]
    },
  }
}

export const list = <T>(item: Shape<T>): Shape<T[]> => ({
  expected: `a list, each ${item.expected}`,
  check: (value, path) =>
    Array.isArray(value)
      ? value.flatMap((one, at) => item.check(one, `${path}[${at}]`))
      : [complaint(path, `a list, each ${item.expected}`, value)],
})

export const record = <T>(item: Shape<T>): Shape<Record<string, T>> => ({
  expected: `an object, each value ${item.expected}`,
  check: (value, path) =>
    isObject(value)
      ? Object.entries(value).flatMap(([name, one]) => item.check(one, `${path}.${name}`))
      : [complaint(path, `an object, each value ${item.expected}`, value)],
})

/** Which shape it must have is decided by looking at it, so that complaints are about the one that was meant. */
export const depending = <T>(expected: string, choose: (value: unknown) => Shape<T> | undefined): Shape<T> => ({
  expected,
  check: (value, path) => choose(value)?.check(value, path) ?? [complaint(path, expected, value)],
})

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function simple<T>(expected: string, holds: (value: unknown) => boolean): Shape<T> {
  return { expected, check: (value, path) => (holds(value) ? [] : [complaint(path, expected, value)]) }
}

const complaint = (path: string, expected: string, value: unknown): Complaint => ({
  path,
  expected,
  found: value === undefined ? 'nothing' : shortened(JSON.stringify(value)),
})

const shortened = (json: string): string => (json.length > 60 ? `${json.slice(0, 59)}…` : json)
