#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { openApp } from './app.ts'
import type { Simulate } from './cli/context.ts'
import { runCli } from './cli/run-cli.ts'

const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const { version } = JSON.parse(manifest) as { version: string }

const simulate: Simulate = async (options) => (await import('./simulator/serve-script.ts')).serveScript(options)

process.exitCode = await runCli(process.argv.slice(2), { openApp, simulate, environment: process.env, version })
