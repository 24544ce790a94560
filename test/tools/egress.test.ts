import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { writeServerNote } from '../../src/disk/server-file.ts'
import { openGrant, sealGrant } from '../../src/workspaces/egress/egress-grant.ts'
import { missingProgram } from '../harness/programs.ts'
import { plainBox } from '../harness/stubs.ts'
import { newCommand, openWorkspacesFixture } from '../workspaces/fixture-workspaces.ts'
import { serveTools } from './fixture-tools.ts'

const skip = missingProgram('bwrap')

const FETCH = `
import os, urllib.request
def get(url: str):
    """Gets."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()
`
const FETCH_TS = `
/** Gets. */
export async function get(url: string): Promise<string> {
  const answer = await fetch(url)
  return answer.ok ? answer.text() : 'status ' + answer.status
}
`

/** A website that a name of the test leads to. */
async function serveSite(context: TestContext): Promise<number> {
  const site = createServer((request, response) => void response.end(`site of ${request.headers.host}`))
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  context.after(() => site.close())
  return (site.address() as AddressInfo).port
}

test('a program reaches the domains of its own list, and a command beside it none', { skip }, async (context) => {
  const port = await serveSite(context)
  const { workspaces, open } = openWorkspacesFixture(context, {
    box: plainBox,
    isPublicAddress: () => true,
    resolve: async () => [{ address: '127.0.0.1' }],
  })
  const workspace = await open()
  const reach = async (environment: Record<string, string>, host: string) => {
    const input = `import os, urllib.request\nos.environ.update(${JSON.stringify(environment)})\ntry:\n  print(urllib.request.urlopen("http://${host}:${port}/", timeout=5).read().decode())\nexcept Exception as error:\n  print(error)\n`
    const { key, runId } = newCommand('')
    const { processId } = await workspace.startProgram({
      key,
      runId,
      title: 'get',
      hasEgress: true,
      file: '/usr/bin/python3',
      parameters: ['-I', '-'],
      input,
    })
    await workspace.wait(processId, AbortSignal.timeout(20_000))
    return (await workspace.output(processId, { last: 1000 })).text.trim()
  }
  const environment = await workspaces.openEgress({
    conversationId: 'conv-1',
    domains: [`*.allowed.test:${port}`],
    seconds: 60,
  })
  assert.match(await reach(environment, 'www.allowed.test'), /^site of www\.allowed\.test:\d+$/)
  assert.match(await reach(environment, 'other.test'), /Forbidden/)
  const over = await workspaces.openEgress({
    conversationId: 'conv-1',
    domains: [`www.allowed.test:${port}`],
    seconds: -1,
  })
  assert.match(await reach(over, 'www.allowed.test'), /Forbidden/)
  assert.match(await reach({}, 'www.allowed.test'), /refused|unreachable|resolution|not known/)
  const open80 = { http_proxy: 'http://127.0.0.1:3128' }
  assert.match(await reach(open80, 'www.allowed.test'), /Forbidden|Bad Gateway/)
  assert.deepEqual(await workspaces.openEgress({ conversationId: 'conv-1', domains: [], seconds: 60 }), {})
})

test('a grant is of this home, for its domains and its time', () => {
  const grant = sealGrant({ domains: ['a.test', 'holdfast'], until: 1_000 }, plainBox)
  assert.deepEqual(openGrant(grant, plainBox, 1_000), {
    domains: [{ name: 'a.test', isWildcard: false, ports: [80, 443] }],
    mayReachServer: true,
  })
  assert.equal(openGrant(grant, plainBox, 1_001), undefined)
  const otherHome = { ...plainBox, open: () => undefined }
  assert.equal(openGrant(grant, otherHome, 0), undefined)
  assert.equal(openGrant('nonsense', plainBox, 0), undefined)
})

test('tools have the network of their list and of their agent, and this server if the list names it', {
  skip,
}, async (context) => {
  const { client, agentId, bring, run, home } = await serveTools(context)
  const url = (client as unknown as { baseURL: string }).baseURL
  writeServerNote(home, { url, pid: process.pid, started: '' })
  await bring({ source_code: FETCH })
  assert.match((await run('get', { url: 'http://holdfast/v1/health' })).output, /URLError/)
  await bring({ source_code: FETCH, egress: ['holdfast'] })
  assert.match((await run('get', { url: 'http://holdfast/v1/health/' })).output, /"status"/)
  assert.match((await run('get', { url: 'http://127.0.0.1:1/' })).output, /URLError/)
  assert.match((await run('get', { url: 'http://other.example/' })).output, /403: Forbidden/)

  await bring({ source_code: FETCH_TS, source_type: 'typescript', egress: [] })
  assert.match((await run('get', { url: 'http://holdfast/v1/health/' })).output, /TypeError: fetch failed/)
  await client.agents.update(agentId, { egress: ['holdfast'] } as object)
  const { output } = await run('get', { url: 'http://holdfast/v1/health/' })
  assert.match(output, /"status"/)
  const refused = await client.agents.update(agentId, { egress: ['not a domain'] } as object).catch((fault) => fault)
  assert.equal(refused.status, 422)
  assert.match(String(refused.message), /must be a domain: example\.com/)
})
