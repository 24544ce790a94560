import type { Kind } from './kinds.ts'

/** One thing that can be configured: its type, its default, and what the documentation says about it. */
export type Setting<Value = unknown, Default extends Value | undefined = Value | undefined> = {
  kind: Kind<Value>
  /** One sentence without its period. */
  description: string
  unit?: string
  default: Default
  /** What holds without it, where that is not a value or the value alone does not tell. */
  defaultText?: string
  /** Where the name does not follow from the key. */
  variable?: string
}

/** Settings that stand together in config.yaml and in the documentation. */
export type Section = Readonly<Record<string, Setting>>

type ValueOf<T> = T extends { kind: Kind<infer Value> } ? Value : never
type KeyWithDefault<S extends Section> = {
  [Key in keyof S]: undefined extends S[Key]['default'] ? never : Key
}[keyof S]

/** What was said about the settings of a section. */
export type SectionInput<S extends Section> = { -readonly [Key in keyof S]?: ValueOf<S[Key]> }

/** The values of a section, with defaults for what was not said. */
export type SectionValues<S extends Section> = SectionInput<S> & {
  -readonly [Key in KeyWithDefault<S>]: ValueOf<S[Key]>
}

type SettingNotes = Omit<Setting, 'kind' | 'default'>

export function setting<Value>(
  kind: Kind<Value>,
  notes: SettingNotes & { default: NoInfer<Value> },
): Setting<Value, Value>
export function setting<Value>(kind: Kind<Value>, notes: SettingNotes): Setting<Value, undefined>
export function setting<Value>(kind: Kind<Value>, notes: SettingNotes & { default?: Value }): Setting<Value> {
  return { default: undefined, ...notes, kind }
}

export function withDefaults<S extends Section>(section: S, given: SectionInput<S>): SectionValues<S> {
  const defaults = Object.entries(section).filter(([, { default: value }]) => value !== undefined)
  return {
    ...Object.fromEntries(defaults.map(([key, { default: value }]) => [key, value])),
    ...given,
  } as SectionValues<S>
}
