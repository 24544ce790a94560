import * as z from 'zod/mini'
import { type NamedSection, SECTIONS } from './sections.ts'
import type { Section, SectionInput, Setting } from './setting.ts'
import { mustBe, platformIdKey } from './setting-kinds.ts'

type SchemaNotes = { title?: string; description?: string; default?: unknown }
const notes = z.registry<SchemaNotes>()

const { general, provider, oauth, server, limits, workspaces, web, schedules, telemetry, gateway, approvals, chat } =
  SECTIONS

const PROVIDER_SCHEMA = mapping(provider, {
  ...shapeOf(provider.section),
  oauth: z.exactOptional(mapping(oauth, shapeOf(oauth.section))),
})

const CHATS_SCHEMA = z.record(platformIdKey.schema(z), mapping(chat, shapeOf(chat.section)), {
  error: mustBe(`a mapping from chat ids to settings, in which each key is ${platformIdKey.expected}`),
})

const ACCOUNT_SCHEMA = mapping(gateway, {
  ...shapeOf(gateway.section),
  approvals_to: z.exactOptional(mapping(approvals, shapeOf(approvals.section))),
  groups: z.exactOptional(CHATS_SCHEMA),
})

/** The whole config.yaml. */
export const CONFIG_SCHEMA = mapping(general, {
  ...shapeOf(general.section),
  providers: z.exactOptional(z.record(z.string(), PROVIDER_SCHEMA, { error: mustBe('a mapping') })),
  server: z.exactOptional(mapping(server, shapeOf(server.section))),
  limits: z.exactOptional(mapping(limits, shapeOf(limits.section))),
  workspaces: z.exactOptional(mapping(workspaces, shapeOf(workspaces.section))),
  web: z.exactOptional(mapping(web, shapeOf(web.section))),
  schedules: z.exactOptional(mapping(schedules, shapeOf(schedules.section))),
  telemetry: z.exactOptional(mapping(telemetry, shapeOf(telemetry.section))),
  gateway: z.exactOptional(z.record(z.string(), ACCOUNT_SCHEMA, { error: mustBe('a mapping') })),
})

/** The values in config.yaml. */
export type ConfigFile = z.infer<typeof CONFIG_SCHEMA>

export type ProviderSettings = z.infer<typeof PROVIDER_SCHEMA>

/** Published as `docs/config.schema.json`: an editor that knows it completes and checks config.yaml. */
export const configJsonSchema = () => z.toJSONSchema(CONFIG_SCHEMA, { metadata: notes })

/** The keys that config.yaml may have at a path that leads to a mapping. */
export function keysAt(path: readonly PropertyKey[]): string[] {
  let schema: z.core.$ZodType = CONFIG_SCHEMA
  for (const step of path) schema = innerOf(unwrapped(schema), step)
  const mappingThere = unwrapped(schema)
  return mappingThere instanceof z.ZodMiniObject ? Object.keys(mappingThere.shape) : []
}

function innerOf(schema: z.core.$ZodType, step: PropertyKey): z.core.$ZodType {
  if (schema instanceof z.ZodMiniObject) return schema.shape[step as string]!
  return schema instanceof z.ZodMiniRecord ? schema.def.valueType : schema
}

const unwrapped = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodMiniExactOptional ? schema.def.innerType : schema

function mapping<Shape extends z.core.$ZodShape>({ path, description }: NamedSection, shape: Shape) {
  const about = path.length === 0 ? { title: description } : { description: `${description}.` }
  return z.strictObject(shape, { error: mustBe('a mapping') }).register(notes, about)
}

type Shape<S extends Section> = {
  [Key in keyof S]: z.ZodMiniExactOptional<z.ZodMiniType<NonNullable<SectionInput<S>[Key]>>>
}

function shapeOf<S extends Section>(section: S): Shape<S> {
  const entries = Object.entries(section).map(([key, setting]) => [key, z.exactOptional(describedSchema(setting))])
  return Object.fromEntries(entries)
}

function describedSchema({ kind, description: says, unit, default: value }: Setting) {
  const description = unit ? `${says}, in ${unit}.` : `${says}.`
  return kind.schema(z).register(notes, value === undefined ? { description } : { description, default: value })
}
