/** The door for programs that have Holdfast inside them: the app, and what can be asked of it. */
export { type App, type AppOptions, openApp } from './app.ts'
export { findAgent, findConversation } from './service/agents/agents.ts'
export { createAgent } from './service/agents/create-agent.ts'
export { answerApproval } from './service/approvals/answer-approval.ts'
export { sendMessage } from './service/messages/send-message.ts'
export { cancelRun, listRuns, showRun } from './service/runs/runs.ts'
export { waitForRun, watchRun } from './service/runs/watch-run.ts'
