import { realClock } from '../../src/config/real-clock.ts'
import type { ConversationId } from '../../src/core/id.ts'
import type { CommandRequest } from '../../src/ports/workspaces.ts'
import { newWorkspaces } from '../../src/workspaces/workspaces.ts'
import { QUOTA } from './fixture-workspaces.ts'

/** A server process as far as a workspace can tell: it starts what it is told to, says so, and stays until it is killed. */
const [folder, conversationId, wishes] = process.argv.slice(2) as [string, ConversationId, string]
const workspaces = newWorkspaces({
  folder,
  clock: realClock,
  report: console.error,
  sandbox: { containment: 'bubblewrap', quota: QUOTA, egress: [] },
})
const workspace = await workspaces.open(conversationId)
for (const wish of JSON.parse(wishes) as CommandRequest[]) console.log(JSON.stringify(await workspace.start(wish)))
console.log('ready')
setInterval(() => {}, 60_000)
