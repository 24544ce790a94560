import { z } from 'zod'
import type { Block } from '../../../core/block.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { BlockChange, NewBlock } from '../../../service/memory/blocks.ts'

export const wireBlock = (block: Block) => ({
  ...{ id: block.id, value: block.value, limit: block.limit, label: block.label },
  ...{ description: block.description ?? null, read_only: block.readOnly, metadata: block.metadata },
  ...{ tags: block.tags, hidden: block.hidden ?? null, is_template: block.isTemplate },
  ...{ template_name: block.templateName ?? null, template_id: null, base_template_id: null },
  ...{ deployment_id: null, entity_id: null, project_id: null, preserve_on_migration: null },
  ...{ created_by_id: null, last_updated_by_id: null },
})

export const record = z.record(z.string(), z.json()).transform((value) => value as JsonObject)

const FIELDS = {
  limit: z.number().int().min(1).max(10_000_000).nullish(),
  description: z.string().nullish(),
  read_only: z.boolean().nullish(),
  tags: z.array(z.string()).max(100).nullish(),
  metadata: record.nullish(),
  hidden: z.boolean().nullish(),
  template_name: z.string().nullish(),
  is_template: z.boolean().nullish(),
}

export const newBlockBody = z.object({ label: z.string().min(1).max(200), value: z.string(), ...FIELDS })
export const blockChangeBody = z.object({
  label: z.string().min(1).max(200).nullish(),
  value: z.string().nullish(),
  ...FIELDS,
})

type Fields = z.output<typeof blockChangeBody>

export function newBlockFrom(body: z.output<typeof newBlockBody>): NewBlock {
  const { description, ...rest } = body
  return {
    ...changeFrom(rest),
    label: body.label,
    value: body.value,
    ...(description ? { description } : {}),
  } as NewBlock
}

/** A null means "leave it", except for a description, which it takes away. */
export function changeFrom(body: Fields): BlockChange {
  const said: [keyof BlockChange, unknown][] = [
    ['label', body.label],
    ['value', body.value],
    ['limit', body.limit],
    ['readOnly', body.read_only],
    ['tags', body.tags],
    ['metadata', body.metadata],
    ['hidden', body.hidden],
    ['templateName', body.template_name],
    ['isTemplate', body.is_template],
  ]
  const change = Object.fromEntries(said.filter(([, value]) => value !== null && value !== undefined)) as BlockChange
  return body.description === undefined ? change : { ...change, description: body.description }
}
