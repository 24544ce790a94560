import type { Block, BlockAuthor, BlockVersion } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import { type BlockId, parseId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../service-context.ts'
import { requireBlock, updateBlock } from './blocks.ts'

/** `keyName`: of the key with which it was written. */
export type ShownVersion = BlockVersion & { isPresent: boolean; keyName?: string }

/** The values that are kept of a block, newest first. */
export async function listVersions(id: BlockId, context: ServiceContext): Promise<ShownVersion[]> {
  const { blocks } = context.deps.store
  const versions = await blocks.versions(context.organizationId, id)
  if (!versions) throw new Problem('not-found', `There is no block "${id}".`)
  const names = new Map<string, string>()
  for (const actor of new Set(versions.flatMap(({ author }) => (author?.type === 'caller' ? [author.by.actor] : [])))) {
    const name = await keyName(actor, context)
    if (name !== undefined) names.set(actor, name)
  }
  return versions.map((version, index) => ({
    ...version,
    isPresent: index === 0,
    ...defined({ keyName: version.author?.type === 'caller' ? names.get(version.author.by.actor) : undefined }),
  }))
}

async function keyName(actor: string, { deps, organizationId }: ServiceContext): Promise<string | undefined> {
  const id = parseId('key', actor)
  return id && (await deps.store.keys.get(organizationId, id))?.name
}

export async function requireVersion(
  { id, version }: { id: BlockId; version: number },
  context: ServiceContext,
): Promise<ShownVersion & { value: string }> {
  const versions = await listVersions(id, context)
  const found = versions.find((one) => one.version === version)
  const [present] = versions
  const oldest = versions.at(-1)!
  if (!found)
    throw new Problem(
      'not-found',
      version < oldest.version
        ? `Version ${version} of block "${id}" is not kept. Its history begins with version ${oldest.version}.`
        : `Block "${id}" has no version ${version}. Its newest one is ${present!.version}.`,
    )
  const replaced = await context.deps.store.blocks.replaced(context.organizationId, id, version)
  if (replaced) return { ...found, value: replaced.value }
  const block = await requireBlock(id, context)
  if (block.version === version) return { ...found, value: block.value }
  // The present version was replaced between the two reads.
  return requireVersion({ id, version }, context)
}

/** Writes the value of a version again: it becomes a new version, and those between stay in the history. */
export async function restoreVersion(
  wanted: { id: BlockId; version: number },
  context: ServiceContext,
): Promise<Block> {
  const { value } = await requireVersion(wanted, context)
  return updateBlock(wanted.id, { value }, context)
}

const BUILT_IN: Record<string, string> = {
  home: "the home's own key",
  'command-line': 'the command line',
  gateway: 'a chat',
}

/** For people: `key laptop`, `agent, in run-…`. */
export function authorText({ author, keyName: name }: { author?: BlockAuthor; keyName?: string }): string {
  if (!author) return 'not recorded'
  if (author.type === 'agent') return `its agent, in ${author.runId}`
  return BUILT_IN[author.by.actor] ?? `key ${name ?? author.by.actor}`
}
