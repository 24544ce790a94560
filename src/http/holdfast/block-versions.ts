import { z } from 'zod'
import { listVersions, requireVersion, restoreVersion } from '../../service/memory/block-versions.ts'
import { blockPath } from '../letta/path-params.ts'
import { blockSchema, wireBlock } from '../letta/wire/block.ts'
import { operation } from '../operation.ts'
import { blockValueSchema, blockVersionSchema, wireBlockValue, wireBlockVersion } from './wire/block-version.ts'

const versionPath = Object.assign(
  { version: z.coerce.number().int().min(1).max(2_147_483_647).describe('The number of a version.') },
  blockPath,
)

const list = operation({
  route: 'GET /v1/blocks/:block_id/versions',
  scope: 'read',
  summary: 'Lists the values that are kept of a memory block, newest first: when each was written, and by whom',
  params: blockPath,
  answer: z.array(blockVersionSchema),
  handle: async ({ params }, context) => (await listVersions(params.block_id, context)).map(wireBlockVersion),
})

const show = operation({
  route: 'GET /v1/blocks/:block_id/versions/:version',
  scope: 'read',
  summary: 'Shows a value that a memory block has or had',
  params: versionPath,
  answer: blockValueSchema,
  handle: async ({ params: { block_id: id, version } }, context) =>
    wireBlockValue(await requireVersion({ id, version }, context)),
})

const restore = operation({
  route: 'POST /v1/blocks/:block_id/versions/:version/restore',
  scope: 'agent',
  summary: 'Writes the value of a version again, as a new version',
  params: versionPath,
  answer: blockSchema,
  handle: async ({ params: { block_id: id, version } }, context) =>
    wireBlock(await restoreVersion({ id, version }, context)),
})

export const blockVersionOperations = [list, show, restore]
