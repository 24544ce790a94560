import type { Fault } from './faults.ts'

export type Regression = {
  seed: number
  found: string
  /** The faults that were needed to see it, where that was worked out. */
  faults?: Fault[]
  /** The planted bug that brings it back: a seed draws other numbers when the simulator changes, a patch does not. */
  planted?: string
}

/** Seeds that once failed. They are kept for ever, and run by the test command. */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 1955,
    found: 'two who finished one stream at once gave it two ends',
    planted: 'a stream can be ended twice',
  },
  {
    seed: 1235,
    found: 'two who finished one stream at once gave it two ends',
    planted: 'a stream can be ended twice',
  },
  {
    seed: 89,
    found: 'a call id that the model repeated shared its idempotency key with the first one',
    faults: ['provider-nonsense'],
    planted: 'two calls share an idempotency key',
  },
  {
    seed: 2,
    found: 'a claim whose answer was lost left its run with a worker that did not know of it; nobody ever took it',
    faults: ['store-error-after'],
    planted: 'a claim nobody heard of is never handed back',
  },
  {
    seed: 3,
    found: 'a claim whose answer was lost left its run with a worker that did not know of it; nobody ever took it',
    faults: ['store-error-after'],
    planted: 'a claim nobody heard of is never handed back',
  },
  {
    seed: 6,
    found: 'a stream that nobody had opened was numbered from the bound',
    planted: 'a stream nobody opened is numbered from the bound',
  },
  {
    seed: 7,
    found: 'a store that was away for a moment, while a turn read its history, ended the run as a bug of ours',
    faults: ['store-error-before'],
    planted: 'a turn that cannot read its history for a moment gives up',
  },
  {
    seed: 10,
    found: 'a worker that slept through its lease took over its own run and then forgot it when the stale turn ended',
    faults: ['process-pause'],
    planted: 'the end of a stale turn makes its process forget the live one',
  },
  {
    seed: 407,
    found: 'a stream that was begun only with its first append had no head to be found by when its worker died',
    faults: ['process-dies-after-write'],
  },
  {
    seed: 1498,
    found: 'an append as long as one that somebody else had written was taken for its own earlier try',
  },
  {
    seed: 764,
    found: 'text left by a dead worker was not taken back when an earlier answer of the run had been told whole',
    faults: ['provider-stall', 'process-pause'],
  },
  {
    seed: 4821,
    found: 'a turn that lost its run while it read the history still asked the model',
    faults: ['store-slow', 'process-pause'],
  },
  {
    seed: 3918,
    found:
      'a worker that had slept past its lease asked the model about a conversation that another had compacted since',
  },
  {
    seed: 12858,
    found:
      'the lab missed the question of a run that goes on with an approval, although it had been compacted meanwhile',
  },
  {
    seed: 13379,
    found: 'a turn that was cancelled while it waited for a token to be renewed made the next one use the old token',
  },
  {
    seed: 3,
    found: 'a reset of a conversation that had just been reset brought all but its first message back into view',
    planted: 'a reset of an empty view brings everything back',
  },
  {
    seed: 50,
    found: 'text that was to be continued stayed in the stream when the run ended before it was',
    planted: 'kept text is taken back by nobody',
  },
  {
    seed: 132,
    found: 'a second compaction of a turn lost the question that the first one had quoted',
    planted: 'a second compaction loses the question',
  },
  {
    seed: 11,
    found: 'a turn that came while another renewed the token used the one that had run out',
    planted: 'a renewal under way is not waited for',
  },
]
