import { realClock } from '../../src/config/real-clock.ts'
import type { ConversationId } from '../../src/core/id.ts'
import type { CommandRequest } from '../../src/ports/workspaces.ts'
import { newWorkspaces } from '../../src/workspaces/workspaces.ts'
import { QUOTA } from './fixture-workspaces.ts'

/** A server process for workspaces: starts the given command, reports it, and runs until it is killed. */
const [folder, conversationId, commands] = process.argv.slice(2) as [string, ConversationId, string]
const workspaces = newWorkspaces({
  folder,
  clock: realClock,
  report: console.error,
  sandbox: { containment: 'bubblewrap', quota: QUOTA, egress: [] },
})
const workspace = await workspaces.open(conversationId)
for (const request of JSON.parse(commands) as CommandRequest[])
  console.log(JSON.stringify(await workspace.start(request)))
console.log('ready')
setInterval(() => {}, 60_000)
