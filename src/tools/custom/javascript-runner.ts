/**
 * The program that runs one call of a TypeScript or JavaScript tool, for `node --input-type=module -e`. It reads the call
 * from its standard input and writes the result to a file; both standard outputs belong to the tool.
 */
export const JAVASCRIPT_RUNNER = String.raw`
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import * as nodeModule from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

const call = JSON.parse(readFileSync(0, 'utf8'))
const resultFile = process.env.HOLDFAST_RESULT
delete process.env.HOLDFAST_RESULT
const exit = process.exit.bind(process)
const stringify = JSON.stringify

function finish(result) {
  writeFileSync(resultFile + '.new', stringify(result))
  renameSync(resultFile + '.new', resultFile)
  exit(0)
}

function fail(error) {
  process.stderr.write((error instanceof Error ? error.stack : inspect(error)) + '\n')
  finish({ error: error instanceof Error ? error.name + ': ' + error.message : 'Error: ' + String(error) })
}

function toText(value) {
  if (typeof value === 'string') return value
  try {
    return stringify(value) ?? String(value)
  } catch {
    return typeof value === 'bigint' ? String(value) : inspect(value)
  }
}

function stripTypes(source) {
  const strip = nodeModule.stripTypeScriptTypes
  if (!strip) throw new Error('This version of Node.js cannot run TypeScript. Use Node.js 22.13 or newer, or JavaScript.')
  try {
    return strip(source)
  } catch (error) {
    // Enums and the like are more than types.
    if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw error
    return strip(source, { mode: 'transform' })
  }
}

async function load(source) {
  const folder = mkdtempSync(join(tmpdir(), 'tool-'))
  const file = join(folder, call.name + '.mjs')
  try {
    writeFileSync(file, source)
    return await import(pathToFileURL(file).href)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runTool() {
  const code = call.isTyped ? stripTypes(call.source) : call.source
  const isExported = new RegExp('\\bexport\\b[^;\\n]*\\b' + call.function + '\\b').test(code) || /\bexport\s+default\b/.test(code)
  const isDefined = new RegExp('\\b' + call.function + '\\b').test(code)
  const loaded = await load(isExported || !isDefined ? code : code + '\nexport { ' + call.function + ' }')
  const tool = loaded[call.function] ?? loaded.default
  if (typeof tool !== 'function') throw new ReferenceError('the source exports no function named ' + call.function)
  const values = call.positions ? call.positions.map((name) => call.arguments[name]) : [call.arguments]
  return { value: toText(await tool(...values)) }
}

/** The value of a last expression is the result; code with imports has none. */
async function runScript() {
  const code = call.isTyped ? stripTypes(call.source) : call.source
  const { Script } = await import('node:vm')
  let script
  try {
    script = new Script(code, { filename: call.name })
  } catch (error) {
    if (!(error instanceof SyntaxError) || !/\b(import|export|await)\b/.test(code)) throw error
  }
  if (!script) {
    await load(code)
    return { value: null }
  }
  const value = await script.runInThisContext()
  return { value: value === undefined ? null : typeof value === 'string' ? inspect(value) : toText(value) }
}

Object.assign(process.env, call.environment)
// Node.js reads the addresses of proxies at its start, or here.
if (process.env.HTTPS_PROXY) http.setGlobalProxyFromEnv?.()
globalThis.require = nodeModule.createRequire(join(process.cwd(), 'tool.js'))
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)
// The awaited promise can never settle: Node.js would end the process with exit code 13.
process.on('beforeExit', () => fail(new Error('the promise of the tool can never settle: nothing is left that it waits for')))
try {
  finish(await (call.function === null ? runScript() : runTool()))
} catch (error) {
  fail(error)
}
`
