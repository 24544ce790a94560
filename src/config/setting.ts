import type { SettingKind } from './setting-kinds.ts'

/** One setting: its type, its default and its documentation. */
export type Setting<Value = unknown, Default extends Value | undefined = Value | undefined> = {
  kind: SettingKind<Value>
  /** One sentence without its period. */
  description: string
  unit?: string
  default: Default
  /** The default in words, if it is not a value or the value alone is not clear. */
  defaultText?: string
  /** The environment variable, if its name does not follow from the key. */
  variable?: string
}

/** Settings that are grouped in config.yaml and in the documentation. */
export type Section = Readonly<Record<string, Setting>>

type ValueOf<T> = T extends { kind: SettingKind<infer Value> } ? Value : never
type KeyWithDefault<S extends Section> = {
  [Key in keyof S]: undefined extends S[Key]['default'] ? never : Key
}[keyof S]

/** The values of a section that are set. */
export type SectionInput<S extends Section> = { -readonly [Key in keyof S]?: ValueOf<S[Key]> }

/** The values of a section, with defaults for those that are not set. */
export type SectionValues<S extends Section> = SectionInput<S> & {
  -readonly [Key in KeyWithDefault<S>]: ValueOf<S[Key]>
}

type SettingNotes = Omit<Setting, 'kind' | 'default'>

export function setting<Value>(
  kind: SettingKind<Value>,
  notes: SettingNotes & { default: NoInfer<Value> },
): Setting<Value, Value>
export function setting<Value>(kind: SettingKind<Value>, notes: SettingNotes): Setting<Value, undefined>
export function setting<Value>(kind: SettingKind<Value>, notes: SettingNotes & { default?: Value }): Setting<Value> {
  return { default: undefined, ...notes, kind }
}

export function withDefaults<S extends Section>(section: S, given: SectionInput<S>): SectionValues<S> {
  const defaults = Object.entries(section).filter(([, { default: value }]) => value !== undefined)
  return {
    ...Object.fromEntries(defaults.map(([key, { default: value }]) => [key, value])),
    ...given,
  } as SectionValues<S>
}
