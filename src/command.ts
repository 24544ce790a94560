import { readFileSync } from 'node:fs'
import { homeOf, openApp, restoreBackup } from './app.ts'
import type { AddChatAccount, InProcess, Serve, Simulate, SimulateChat } from './cli/cli-context.ts'
import { runCli } from './cli/run-cli.ts'

// Nothing that this program writes is for other users.
process.umask(0o077)

const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const { version } = JSON.parse(manifest) as { version: string }

const simulate: Simulate = async (options) => (await import('./simulator/serve-script.ts')).serveScript(options)

const simulateChat: SimulateChat = async (options) => (await import('./simulator/serve-chat.ts')).serveChat(options)

const addChatAccount: AddChatAccount = async (account, environment) =>
  (await import('./compose-gateway.ts')).addChatAccount(account, environment)

const serve: Serve = async (options) => (await import('./http/serve-home.ts')).serveHome(options)

const inProcess: InProcess = async (options) => (await import('./http/in-process.ts')).inProcessServer(options)

process.exitCode = await runCli(process.argv.slice(2), {
  openApp,
  homeOf,
  simulate,
  simulateChat,
  addChatAccount,
  serve,
  inProcess,
  restore: restoreBackup,
  environment: process.env,
  version,
})
