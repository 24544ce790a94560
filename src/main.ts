#!/usr/bin/env node
import { openApp } from './app.ts'
import { runCli } from './cli/run-cli.ts'

process.exitCode = await runCli(process.argv.slice(2), { openApp, environment: process.env })
