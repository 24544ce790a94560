import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { OpenApi } from '../../src/http/openapi.ts'
import { ROUTE_WORDS } from '../../src/http/openapi-words.ts'
import { serveHouse } from './resource-house.ts'

const ROOMS = fileURLToPath(new URL('../../src/http', import.meta.url))

test('the API describes itself: every path, its parameters and bodies, in a document that holds together', async (t) => {
  const { fetch } = await serveHouse(t)
  const { body } = await fetch('GET', '/openapi.json')
  const { openapi, paths, components, info } = body as OpenApi
  assert.match(openapi, /^3\.1\.\d$/)
  assert.equal(info.version, 'test')
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )
  assert.ok(operations.length > 60)
  assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length)
  for (const { path, method, parameters, responses, summary } of operations) {
    const where = `${method} ${path}`
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const inPath = parameters.filter((one) => one.in === 'path')
    assert.deepEqual(inPath.map(({ name }) => name).sort(), named.sort(), where)
    assert.ok(inPath.every(({ required }) => required))
    assert.equal(new Set(parameters.map((one) => `${one.in} ${one.name}`)).size, parameters.length, where)
    assert.ok(Object.keys(responses).every((status) => /^[1-5](\d\d|XX)$/.test(status)))
    assert.ok(summary.length > 0)
  }
  const text = JSON.stringify(body)
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g))
    assert.ok(name && components.schemas[name], `${name} is there`)
  assert.ok(!/"\$ref":"#\/\$defs/.test(text))
  const send = paths['/v1/agents/{agent_id}/messages']!.post!.requestBody!.content['application/json'].schema
  assert.ok('stream_tokens' in (send.properties as object))
})

test('what the description says of a route is what its handler checks', () => {
  const files = globSync(`${ROOMS}/**/*.ts`).filter((file) => !file.endsWith('.test.ts'))
  const sources = files.map((file) => readFileSync(file, 'utf8'))
  // A handler may leave the checking to a function it shares with others.
  const anywhere = sources.flatMap(checksIn)
  const strays = sources.flatMap((source) =>
    registrations(source).flatMap(({ name, checked, noted }) => {
      const untold = checked
        .filter((one) => !noted.includes(one))
        .map((one) => `${name}: checks ${one} and does not say so`)
      const idle = noted
        .filter((one) => !anywhere.includes(one))
        .map((one) => `${name}: says ${one} and does not check it`)
      return [...untold, ...idle]
    }),
  )
  assert.deepEqual(strays, [])
})

test('no words are kept for a route that is not served', async (t) => {
  const { fetch } = await serveHouse(t)
  const { paths } = (await fetch('GET', '/openapi.json')).body as OpenApi
  const strays = Object.keys(ROUTE_WORDS).filter((name) => {
    const [method, path] = name.split(' ')
    return !paths[path!.replaceAll(/:(\w+)/g, '{$1}')]?.[method!.toLowerCase()]
  })
  assert.deepEqual(strays, [])
})

test('the page for people needs no key, nothing from elsewhere and no script, and shows a line for each route', async (t) => {
  const { client, fetch } = await serveHouse(t)
  const { paths } = (await fetch('GET', '/openapi.json')).body as OpenApi
  const response = await globalThis.fetch(`${client.baseURL}/`)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  const page = await response.text()
  const count = Object.values(paths).flatMap(Object.keys).length
  assert.equal(page.match(/<details/g)?.length, count)
  assert.equal(page.match(/curl -sN/g)?.length, count)
  assert.doesNotMatch(page, /<script|<img|<link|url\(|@import|src=/)
})

type Registration = { name: string; checked: string[]; noted: string[] }

/** What the code of each registration says it checks, and what it says of itself. */
function registrations(source: string): Registration[] {
  return [...source.matchAll(/\broutes\.(?:get|post|put|patch|delete)\(/g)].map(({ index }) => {
    const text = untilClosed(source.slice(index))
    // The last argument, if it is a plain object.
    const notes = /,\s*\{([^{}]*)\},?\s*\)$/.exec(text)?.[1] ?? ''
    const said = notes.matchAll(/\b(body|query): (\w+)/g)
    return {
      name: text.slice(0, 80).replaceAll(/\s+/g, ' '),
      checked: checksIn(text),
      noted: [...said].map(([, where, schema]) => `${where}: ${schema}`).sort(),
    }
  })
}

const checksIn = (text: string): string[] =>
  [...text.matchAll(/\bparsed\(\s*(\w+)\s*,[^)]*?,\s*'(body|query)',?\s*\)/g)].map(
    ([, schema, where]) => `${where}: ${schema}`,
  )

function untilClosed(text: string): string {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '(') depth++
    if (text[index] === ')' && --depth === 0) return text.slice(0, index + 1)
  }
  return text
}
