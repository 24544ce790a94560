import type { z } from 'zod'
import { errorText } from '../core/error-text.ts'
import { type Script, scriptSchema } from './script.ts'

/** One mistake in a script: its path, the expected value and the value found. */
type ScriptIssue = { path: string; expected: string; found: string }

type ScriptRead = { type: 'read'; script: Script } | { type: 'refused'; complaints: ScriptIssue[] }

/** The parsed script, or every mistake in it. */
export function readScript(source: string): ScriptRead {
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch (fault) {
    return { type: 'refused', complaints: [{ path: 'the file', expected: 'JSON', found: errorText(fault) }] }
  }
  const { data, error } = scriptSchema.safeParse(value, { reportInput: true })
  return data ? { type: 'read', script: data } : { type: 'refused', complaints: error!.issues.flatMap(toIssues) }
}

export const describeIssue = ({ path, expected, found }: ScriptIssue): string =>
  `${path}: expected ${expected}, found ${found}`

function toIssues(issue: z.core.$ZodIssue): ScriptIssue[] {
  const { path, message: expected, input } = issue
  if (issue.code !== 'unrecognized_keys') return [{ path: pathText(path), expected, found: shown(input) }]
  return issue.keys.map((key) => {
    const found = shown((input as Record<string, unknown>)[key])
    return { path: pathText([...path, key]), expected, found }
  })
}

const pathText = (path: PropertyKey[]): string =>
  `script${path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')}`

const MAX_SHOWN = 60

function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  const json = JSON.stringify(value)
  return json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN - 1)}…` : json
}
