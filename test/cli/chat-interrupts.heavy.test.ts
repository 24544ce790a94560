import { describe, test } from 'node:test'
import { endsAfterInterrupt, MOMENTS } from './chat-interrupts.ts'
import { lacksTerminal } from './holdfast.ts'

describe('Ctrl-C at every moment', { concurrency: 4, skip: lacksTerminal }, () => {
  for (const [name, moment] of Object.entries(MOMENTS))
    for (const hasServer of [false, true])
      test(`Ctrl-C ${name} ends a chat ${hasServer ? 'with' : 'without'} a server and leaves nothing broken`, (context) =>
        endsAfterInterrupt(context, moment, hasServer))
})
