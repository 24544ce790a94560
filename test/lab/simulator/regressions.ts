import type { Fault } from './faults.ts'

export type Regression = {
  seed: number
  found: string
  /** The faults that are needed to reproduce it, where known. */
  faults?: Fault[]
  /** The planted bug that reintroduces it: unlike a seed, a patch survives changes of the simulator. */
  planted?: string
}

/** Seeds that once failed. They are never removed, and `npm run test:all` runs them. */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 1955,
    found: 'two processes that finished one stream at once wrote two ends',
    planted: 'a stream can be ended twice',
  },
  {
    seed: 1235,
    found: 'two processes that finished one stream at once wrote two ends',
    planted: 'a stream can be ended twice',
  },
  {
    seed: 89,
    found: 'a call id that the model repeated shared its idempotency key with the first call',
    faults: ['provider-nonsense'],
    planted: 'two calls share an idempotency key',
  },
  {
    seed: 2,
    found:
      'a claim whose answer was lost left its run with a worker that did not know of it, and no worker ever took it',
    faults: ['store-error-after'],
    planted: 'a claim whose response was lost is never handed back',
  },
  {
    seed: 3,
    found:
      'a claim whose answer was lost left its run with a worker that did not know of it, and no worker ever took it',
    faults: ['store-error-after'],
    planted: 'a claim whose response was lost is never handed back',
  },
  {
    seed: 6,
    found: 'a stream that was never opened was numbered from the bound',
    planted: 'a stream that was never opened is numbered from the bound',
  },
  {
    seed: 7,
    found: 'a transient store error while a turn read its history ended the run as an internal error',
    faults: ['store-error-before'],
    planted: 'a transient store error while reading history ends the run',
  },
  {
    seed: 10,
    found: 'a worker paused beyond its lease took over its own run and forgot it when the stale turn ended',
    faults: ['process-pause'],
    planted: 'the end of a turn makes its process forget the live ones',
  },
  {
    seed: 407,
    found: 'a stream whose head was written only with the first append could not be found when its worker died',
    faults: ['process-dies-after-write'],
  },
  {
    seed: 1498,
    found: 'an append as long as one of another worker was mistaken for an earlier attempt of the same worker',
  },
  {
    seed: 764,
    found: 'partial text of a dead worker was not reset when an earlier answer of the run had been streamed completely',
    faults: ['provider-stall', 'process-pause'],
  },
  {
    seed: 4821,
    found: 'a turn that lost its run while it read the history still called the model',
    faults: ['store-slow', 'process-pause'],
  },
  {
    seed: 3918,
    found:
      'a worker paused beyond its lease called the model with a conversation that another worker had compacted since',
  },
  {
    seed: 12858,
    found: 'the lab expected the question of a run that continues an approval although it had been compacted',
  },
  {
    seed: 13379,
    found: 'a turn cancelled while it waited for a token renewal made the next turn use the old token',
  },
  {
    seed: 3,
    found: 'resetting a conversation twice brought all but its first message back into view',
    planted: 'a reset of an empty view brings everything back',
  },
  {
    seed: 50,
    found: 'partial text stayed in the stream when the run ended before it was continued',
    planted: 'partial text is never reset',
  },
  {
    seed: 132,
    found: 'a second compaction of a turn lost the question that the first had quoted',
    planted: 'a second compaction loses the question',
  },
  {
    seed: 11,
    found: 'a turn that started during a token renewal used the expired token',
    planted: 'a renewal in progress is not awaited',
  },
  {
    seed: 3141,
    found: 'a message that came while an approval waited ran between the calls and their results',
    planted: 'a message that was urgent while an approval waited runs between the calls and their results',
  },
]
