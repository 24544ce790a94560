import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../src/core/defined.ts'
import { openBareLoop } from './bare-loop.ts'
import { runJobFromArgv, type Side, type SideOptions } from './side.ts'
import { pastMessages } from './wire.ts'

/** The bare loop as a side. It stores no row for a conversation, only its name. */
async function openBareSide({ home, durability, source, request, onTool }: SideOptions): Promise<Side> {
  mkdirSync(home, { recursive: true })
  const loop = openBareLoop({
    path: join(home, 'bare.db'),
    source,
    request,
    synchronous: durability === 'strict' ? 'FULL' : 'NORMAL',
    ...defined({ onTool }),
  })
  let made = 0
  return {
    newConversations: async (count) => Array.from({ length: count }, () => `conversation-${process.pid}-${made++}`),
    seed: async (conversation, messages) => loop.insert(conversation, pastMessages(messages)),
    runTurn: loop.runTurn,
    countMessages: async (conversation) => loop.count(conversation),
    resume: loop.resume,
    check: async () => {},
    close: async () => loop.close(),
  }
}

await runJobFromArgv(openBareSide)
