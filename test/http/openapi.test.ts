import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenApi } from '../../src/http/openapi.ts'
import { serveFixture } from './fixture-resource-server.ts'

test('the OpenAPI document describes every path with its parameters and bodies, and its references resolve', async (t) => {
  const { fetch } = await serveFixture(t)
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
  const send = paths['/v1/agents/{agent_id}/messages']!.post!.requestBody!.content['application/json']!.schema
  assert.ok('stream_tokens' in (send.properties as object))
})

test('the API page needs no key, no external resources and no scripts, and lists every route', async (t) => {
  const { client, fetch } = await serveFixture(t)
  const { paths } = (await fetch('GET', '/openapi.json')).body as OpenApi
  const response = await globalThis.fetch(`${client.baseURL}/docs`)
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  const page = await response.text()
  const count = Object.values(paths).flatMap(Object.keys).length
  assert.equal(page.match(/<details id="(?!schema-)/g)?.length, count)
  assert.equal(page.match(/curl -sN/g)?.length, count)
  assert.doesNotMatch(page, /<script|<img|<link|url\(|@import|src=/)
})
