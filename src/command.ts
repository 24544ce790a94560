import { readFileSync } from 'node:fs'
import { homeOf, openApp } from './app.ts'
import type { Serve, Simulate } from './cli/cli-context.ts'
import { runCli } from './cli/run-cli.ts'

const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const { version } = JSON.parse(manifest) as { version: string }

const simulate: Simulate = async (options) => (await import('./simulator/serve-script.ts')).serveScript(options)

const serve: Serve = async (options) => (await import('./http/serve-home.ts')).serveHome(options)

process.exitCode = await runCli(process.argv.slice(2), {
  openApp,
  homeOf,
  simulate,
  serve,
  environment: process.env,
  version,
})
