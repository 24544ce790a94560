import type { PoolStrategy } from '../../../src/core/credential.ts'
import { defined } from '../../../src/core/defined.ts'
import type { TargetHandle } from '../../../src/core/target.ts'
import type { Kernel } from './kernel.ts'

/** The configuration of one simulated day. */
export type Setup = {
  chain: TargetHandle[]
  isAggregator: boolean
  /** Context windows by model; without one a model has no limit. A longer request is always refused. */
  windows: Readonly<Record<string, number>>
  /** Models whose window is known before a refusal. */
  stated: readonly string[]
  /** Whether clients send messages that are longer than these windows. */
  hasGiants: boolean
  maxOutput?: number
  /** Number of keys in the environment, by provider. A provider without keys or a login needs none. */
  keys: Readonly<Record<string, number>>
  strategy: PoolStrategy
  /** Whether `sim` also has an expiring login. `strict`: its refresh tokens are single-use. */
  login: 'none' | 'lenient' | 'strict'
  /** Whether one of the tools is brought as source. */
  hasSources: boolean
  /** Turns that a process runs at once. With one, what is ready to run often has to wait. */
  slots: number
}

const CHAINS: TargetHandle[][] = [
  ['sim/first', 'spare/second'],
  ['sim/first', 'sim/second', 'spare/third'],
  ['sim/first', 'spare/second', 'sim/third'],
  ['sim/first', 'sim/second'],
  ['sim/first'],
]

const STRATEGIES: PoolStrategy[] = ['fill_first', 'fill_first', 'round_robin', 'least_used', 'random']

/** Sources and single slots take a share of the days without a draw: the other days stay as they were. */
export function drawSetup(kernel: Kernel, seed: number): Setup {
  const chain = kernel.pick(CHAINS)
  const isAggregator = kernel.chance(0.25)
  const isSmall = kernel.chance(0.4)
  const windows = {
    first: kernel.between(900, 2_500),
    second: kernel.between(900, 2_500),
    third: kernel.between(900, 6_000),
  }
  const stated = Object.keys(windows).filter(() => kernel.chance(0.7))
  const hasGiants = kernel.chance(0.5)
  const hasCeiling = kernel.chance(0.3)
  const maxOutput = kernel.pick([4_096, 16_384])
  const keys = { sim: kernel.pick([1, 2, 3, 3]), spare: kernel.pick([0, 1, 2]) }
  const strategy = kernel.pick(STRATEGIES)
  const login = kernel.pick(['none', 'none', 'lenient', 'strict'] as const)
  return {
    chain,
    isAggregator,
    keys,
    strategy,
    login,
    hasSources: seed % 4 === 3,
    slots: seed % 4 === 1 ? 1 : 4,
    windows: isSmall ? windows : {},
    stated,
    hasGiants: isSmall && hasGiants,
    ...defined({ maxOutput: hasCeiling ? maxOutput : undefined }),
  }
}
