import type { TestContext } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { realRandomness } from '../../src/config/real-randomness.ts'
import type { Block } from '../../src/core/block.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { Store } from '../../src/ports/store.ts'
import type { Tool } from '../../src/ports/tool.ts'
import { attachBlock } from '../../src/service/agents/agent-blocks.ts'
import { createBlock, type NewBlock } from '../../src/service/memory/blocks.ts'
import { memoryTools } from '../../src/tools/builtin/memory/all.ts'
import { retiredTools } from '../../src/tools/retired/all.ts'
import { type HomeFixture, type HomeFixtureOptions, openHomeFixture } from './fixture-home.ts'

export type MemoryFixture = HomeFixture & {
  block(label: string): Promise<Block>
  remember(input: NewBlock): Promise<Block>
}

/** A home whose agent has the memory tools, on the store of the current process. */
export async function openMemoryFixture(
  context: TestContext,
  options: HomeFixtureOptions = {},
): Promise<MemoryFixture> {
  let current: Store | undefined
  const store: Pick<Store, 'passages' | 'prompts' | 'messageSearch' | 'blocks'> = {
    get passages() {
      return current!.passages
    },
    get blocks() {
      return current!.blocks
    },
    get prompts() {
      return current!.prompts
    },
    get messageSearch() {
      return current!.messageSearch
    },
  }
  const own = options.tools ?? []
  const tools: Tool[] = [
    ...memoryTools({ store, clock: realClock, randomness: realRandomness }),
    ...retiredTools().filter((tool) => !own.some(({ name }) => name === tool.name)),
  ]
  const fixture = await openHomeFixture(context, {
    ...options,
    tools: [...tools, ...own],
    wrapStore(opened) {
      current = opened
      return options.wrapStore?.(opened) ?? opened
    },
  })
  const more = {
    async block(label: string) {
      const blocks = await current!.blocks.ofAgent(DEFAULT_ORGANIZATION, fixture.agent.id)
      return blocks.find((one) => one.label === label)!
    },
    async remember(input: NewBlock) {
      const block = await createBlock(input, fixture.context)
      await attachBlock(fixture.agent, block.id, fixture.context)
      return block
    },
  }
  // Not copied: the getter `context` must return the current process each time.
  return Object.assign(fixture, more)
}
