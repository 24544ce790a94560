import { z } from 'zod'
import type { Block } from '../../../core/block.ts'
import { defined } from '../../../core/defined.ts'
import type { BlockChange, NewBlock } from '../../../service/memory/blocks.ts'
import { record } from '../../field.ts'
import { withoutEffect } from '../../field-fate.ts'
import { alwaysNull } from './constant-field.ts'
import { storedObject } from './stored-json.ts'

export const blockSchema = z.lazy(() =>
  z
    .object({
      id: z.string(),
      value: z.string().describe('Text of the block, as the prompt shows it.'),
      limit: z.int().describe('Maximum number of characters of the value.'),
      label: z.string().describe('Name of the block in the prompt and in the memory tools.'),
      description: z.string().nullable().describe('What the block is for; the prompt shows it to the model.'),
      read_only: z.boolean().describe('Whether the memory tools of agents cannot change the block.'),
      metadata: storedObject.describe('Data of the application, stored as it was sent.'),
      tags: z.array(z.string()).describe('Labels to find the block by.'),
      hidden: z.boolean().nullable().describe('Flag of the application; lists include hidden blocks.'),
      is_template: z.boolean().describe('Whether the block is marked as a template, for `templates_only`.'),
      template_name: z.string().nullable().describe('Name of the template, for the filter `name`.'),
      template_id: alwaysNull,
      base_template_id: alwaysNull,
      deployment_id: alwaysNull,
      entity_id: alwaysNull,
      project_id: alwaysNull,
      preserve_on_migration: alwaysNull,
      created_by_id: alwaysNull,
      last_updated_by_id: alwaysNull,
    })
    .meta({ id: 'Block', description: 'A piece of memory in the prompt of one or more agents.' }),
)

type WireBlock = z.output<typeof blockSchema>

export const wireBlock = (block: Block): WireBlock => ({
  id: block.id,
  value: block.value,
  limit: block.limit,
  label: block.label,
  description: block.description ?? null,
  read_only: block.readOnly,
  metadata: block.metadata,
  tags: block.tags,
  hidden: block.hidden ?? null,
  is_template: block.isTemplate,
  template_name: block.templateName ?? null,
  template_id: null,
  base_template_id: null,
  deployment_id: null,
  entity_id: null,
  project_id: null,
  preserve_on_migration: null,
  created_by_id: null,
  last_updated_by_id: null,
})

const LABEL = 'Name of the block in the prompt and in the memory tools; unique within an agent.'
const VALUE = 'Text of the block, as the prompt shows it. At most `limit` characters.'

const NO_PROJECTS = 'Holdfast has no projects; the organization of the API key takes their place.'
const NO_TEMPLATES = 'agents are not deployed from templates.'

const FIELDS = {
  limit: z.number().int().min(1).max(10_000_000).nullish().describe('Maximum number of characters of the value.'),
  description: z.string().nullish().describe('What the block is for; the prompt shows it to the model.'),
  read_only: z.boolean().nullish().describe('Whether the memory tools of agents cannot change the block.'),
  tags: z.array(z.string()).max(100).nullish().describe('Labels to find the block by.'),
  metadata: record.nullish().describe('Data of the application, stored as it is sent.'),
  hidden: withoutEffect(z.boolean().nullish(), 'lists show all blocks.'),
  template_name: z.string().nullish().describe('Name of the template, for the filter `name` of lists.'),
  is_template: z.boolean().nullish().describe('Marks the block as a template, for the filter `templates_only`.'),
  project_id: withoutEffect(z.string().nullish(), NO_PROJECTS),
  template_id: withoutEffect(z.string().nullish(), NO_TEMPLATES),
  base_template_id: withoutEffect(z.string().nullish(), NO_TEMPLATES),
  deployment_id: withoutEffect(z.string().nullish(), NO_TEMPLATES),
  entity_id: withoutEffect(z.string().nullish(), NO_TEMPLATES),
  preserve_on_migration: withoutEffect(z.boolean().nullish(), NO_TEMPLATES),
}

export const newBlockBody = z.lazy(() =>
  z.object({
    label: z.string().min(1).max(200).describe(LABEL),
    value: z.string().describe(VALUE),
    ...FIELDS,
  }),
)
export const blockChangeBody = z.lazy(() =>
  z.object({
    label: z.string().min(1).max(200).nullish().describe(LABEL),
    value: z.string().nullish().describe(VALUE),
    ...FIELDS,
  }),
)

type Fields = z.output<typeof blockChangeBody>

export function newBlockFrom(body: z.output<typeof newBlockBody>): NewBlock {
  const { description, ...rest } = body
  return {
    ...changeFrom(rest),
    label: body.label,
    value: body.value,
    ...defined({ description: description || undefined }),
  } as NewBlock
}

/** Null leaves a field unchanged, except for the description, which it removes. */
export function changeFrom(body: Fields): BlockChange {
  const sent: [keyof BlockChange, unknown][] = [
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
  const change = Object.fromEntries(sent.filter(([, value]) => value !== null && value !== undefined)) as BlockChange
  return body.description === undefined ? change : { ...change, description: body.description }
}
