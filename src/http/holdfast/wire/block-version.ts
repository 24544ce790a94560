import { z } from 'zod'
import type { BlockAuthor } from '../../../core/block.ts'
import type { ShownVersion } from '../../../service/memory/block-versions.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

const author = z.union([
  z.object({
    type: z.literal('key'),
    actor: z.string().describe('Id of the key, or `home`, `command-line` or `gateway`.'),
    key_name: z.string().nullable(),
    user_id: z.string().nullable().describe('User of the key; null for none.'),
  }),
  z.object({ type: z.literal('agent'), agent_id: z.string(), run_id: z.string() }),
])

const FIELDS = {
  version: z.int().describe('Grows by one with each change of the value.'),
  is_present: z.boolean().describe('Whether it is the value that the prompt shows.'),
  characters: z.int(),
  written_at: dateSchema,
  written_by: author.nullable().describe('Null: written by an import, or before this was recorded.'),
}

export const blockVersionSchema = z.lazy(() =>
  z
    .object(FIELDS)
    .meta({ id: 'BlockVersion', description: 'A value that a memory block has or had, without the text.' }),
)

export const blockValueSchema = z.lazy(() =>
  z
    .object({ ...FIELDS, value: z.string() })
    .meta({ id: 'BlockValue', description: 'A value that a memory block has or had.' }),
)

export const wireBlockVersion = (one: ShownVersion): z.output<typeof blockVersionSchema> => ({
  version: one.version,
  is_present: one.isPresent,
  characters: one.characters,
  written_at: wireDate(one.writtenAt),
  written_by: one.author ? wireAuthor(one.author, one.keyName) : null,
})

export const wireBlockValue = (one: ShownVersion & { value: string }): z.output<typeof blockValueSchema> =>
  Object.assign(wireBlockVersion(one), { value: one.value })

const wireAuthor = (by: BlockAuthor, keyName: string | undefined): z.output<typeof author> =>
  by.type === 'agent'
    ? { type: 'agent', agent_id: by.agentId, run_id: by.runId }
    : { type: 'key', actor: by.by.actor, key_name: keyName ?? null, user_id: by.by.userId ?? null }
