import { describe, test } from 'node:test'
import { endsAfterInterrupt, MOMENTS } from './chat-interrupts.ts'
import { lacksTerminal } from './holdfast.ts'

// A slice of chat-interrupts.heavy.test.ts.
describe('Ctrl-C in a chat', { concurrency: 3, skip: lacksTerminal }, () => {
  for (const name of ['three times, together with Enter', 'as the tool starts', 'at a question'])
    test(`Ctrl-C ${name} ends the chat and leaves nothing broken`, (context) =>
      endsAfterInterrupt(context, MOMENTS[name]!, false))
})
