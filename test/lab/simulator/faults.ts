import type { Kernel } from './kernel.ts'

/** Every fault that can be injected, by port. A seed enables a random subset. */
export const FAULTS = [
  'store-error-before',
  'store-error-after',
  'store-busy',
  'store-full',
  'store-full-midway',
  'store-slow',
  'chunks-error',
  'provider-status',
  'provider-cut',
  'provider-stall',
  'provider-nonsense',
  'provider-down',
  'provider-picky',
  'provider-narrow',
  'provider-truncates',
  'provider-hollow',
  'connection-stale',
  'key-limited',
  'key-broke',
  'key-revoked',
  'token-lost',
  'token-down',
  'token-kills',
  'tool-dies-before-effect',
  'tool-dies-after-effect',
  'tool-poison',
  'tool-deaf',
  'tool-huge',
  'tool-long',
  'tool-throws',
  'process-kill',
  'process-dies-before-write',
  'process-dies-after-write',
  'process-pause',
  'clock-jump',
  'wakeup-lost',
  'wakeup-doubled',
  'client-vanishes',
] as const

export type Fault = (typeof FAULTS)[number]

/** Probability of a fault at each opportunity, while it is enabled. */
const ODDS: Record<Fault, number> = {
  'store-error-before': 0.03,
  'store-error-after': 0.03,
  'store-busy': 0.03,
  'store-full': 0.01,
  'store-full-midway': 0.05,
  'store-slow': 0.05,
  'chunks-error': 0.03,
  'provider-status': 0.25,
  'provider-cut': 0.1,
  'provider-stall': 0.1,
  'provider-nonsense': 0.1,
  'provider-down': 0.04,
  'provider-picky': 0.1,
  'provider-narrow': 0.5,
  'provider-truncates': 0.4,
  'provider-hollow': 0.1,
  'connection-stale': 0.04,
  'key-limited': 0.2,
  'key-broke': 0.05,
  'key-revoked': 0.04,
  'token-lost': 0.2,
  'token-down': 0.2,
  'token-kills': 0.2,
  'tool-dies-before-effect': 0.06,
  'tool-dies-after-effect': 0.08,
  'tool-poison': 1,
  'tool-deaf': 0.1,
  'tool-huge': 0.1,
  'tool-long': 0.7,
  'tool-throws': 0.1,
  'process-kill': 1,
  'process-dies-before-write': 0.005,
  'process-dies-after-write': 0.01,
  'process-pause': 1,
  'clock-jump': 1,
  'wakeup-lost': 0.3,
  'wakeup-doubled': 0.3,
  'client-vanishes': 0.2,
}

/** A call that kills its process always does: the run has to end. */
const LASTING: ReadonlySet<Fault> = new Set(['tool-poison'])

export type FaultInjector = {
  /** Whether to inject this fault now; counts and logs it if so. */
  strikes(fault: Fault, where?: string): boolean
  isOn(fault: Fault): boolean
  struck: Map<Fault, number>
}

/** No faults are injected after `endsAt`, so that every run must end. */
export function newFaultInjector(
  kernel: Kernel,
  { faults, endsAt }: { faults: ReadonlySet<Fault>; endsAt: number },
): FaultInjector {
  const struck = new Map<Fault, number>()
  return {
    struck,
    isOn: (fault) => faults.has(fault),
    strikes(fault, where) {
      // Draw even if the fault is disabled, so that shrinking a seed does not change its other draws.
      const isDrawn = kernel.chance(ODDS[fault])
      if (!isDrawn || !faults.has(fault) || (kernel.now() >= endsAt && !LASTING.has(fault))) return false
      struck.set(fault, (struck.get(fault) ?? 0) + 1)
      kernel.log(`fault ${fault}${where ? ` in ${where}` : ''}`)
      return true
    },
  }
}

/** Swarm testing: each seed has its own mixture of faults, to reach rare combinations. */
export const drawFaults = (kernel: Kernel): Set<Fault> => new Set(FAULTS.filter(() => kernel.chance(0.4)))
