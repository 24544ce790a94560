import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { ProgramEvents, RunningProgram } from '../../ports/stdio-programs.ts'

/** Messages that a program may send without being asked anything, and their characters. */
const MAX_UNASKED_MESSAGES = 10_000
const MAX_UNASKED_CHARACTERS = 64 * 1024 * 1024
/** Lines that are no messages: programs log to stdout by mistake, and the protocol says to ignore that. */
const MAX_OTHER_LINES = 1_000

type StartProgram = (events: ProgramEvents) => Promise<RunningProgram>

/** Why the program is gone. */
export class ProgramEnded extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'ProgramEnded'
  }
}

/**
 * A transport of the SDK over the stdin and stdout of a program: a message is a line. A program that floods is stopped;
 * what it sends under an id that was not asked is ignored by the SDK.
 */
export function newStdioTransport(startProgram: StartProgram) {
  let program: RunningProgram | undefined
  let ended: string | undefined
  /** A program may flood before its start is known to have succeeded. */
  let stoppedFor: string | undefined
  let unasked = { messages: 0, characters: 0 }
  let otherLines = 0

  const transport = {
    onmessage: undefined as ((message: JSONRPCMessage) => void) | undefined,
    onerror: undefined as ((fault: Error) => void) | undefined,
    onclose: undefined as (() => void) | undefined,
    /** Undefined while it runs. */
    whyEnded: () => ended,
    async start() {
      program = await startProgram({
        onLine: receive,
        onEnd(why) {
          ended = why
          transport.onclose?.()
        },
      })
      if (stoppedFor !== undefined) void program.stop(stoppedFor)
    },
    async send(message: JSONRPCMessage) {
      unasked = { messages: 0, characters: 0 }
      if (!program?.write(JSON.stringify(message)))
        throw new ProgramEnded(ended ?? stoppedFor ?? 'it does not read its input')
    },
    close: async () => program?.stop('it was stopped'),
  }

  function receive(line: string): void {
    unasked.messages++
    unasked.characters += line.length
    const message = parseMessage(line)
    if (unasked.messages > MAX_UNASKED_MESSAGES || unasked.characters > MAX_UNASKED_CHARACTERS)
      stopFor('it sent too much that was not asked for')
    else if (message) transport.onmessage?.(message)
    else if (++otherLines > MAX_OTHER_LINES) stopFor('what it writes to its stdout are not messages of the protocol')
  }

  function stopFor(why: string): void {
    stoppedFor ??= why
    void program?.stop(why)
  }

  return transport
}

function parseMessage(line: string): JSONRPCMessage | undefined {
  try {
    const value = JSON.parse(line) as JSONRPCMessage | null
    return value !== null && typeof value === 'object' && value.jsonrpc === '2.0' ? value : undefined
  } catch {
    return undefined
  }
}
