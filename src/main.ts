#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { openApp } from './app.ts'
import { runCli } from './cli/run-cli.ts'

const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const { version } = JSON.parse(manifest) as { version: string }

process.exitCode = await runCli(process.argv.slice(2), { openApp, environment: process.env, version })
