/** What the benchmarks call inside Holdfast, as one entry point: below the embedding API, whose look-ups they must not pay for. */
export { openApp } from '../src/app.ts'
export { createAgent } from '../src/service/agents/create-agent.ts'
export { requireConversation } from '../src/service/conversations/conversations.ts'
export { sendMessage } from '../src/service/messages/send-message.ts'
export { listRuns } from '../src/service/runs/runs.ts'
export { waitForRun } from '../src/service/runs/watch-run.ts'
