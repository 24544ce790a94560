import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import type { ImportReport } from '../../src/service/imports/imports.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import type { OldFault, OldRequest } from '../harness/old-server/old-server.ts'
import { agentId, blockId, conversationId, messageId, toolId } from '../harness/old-server/old-world.ts'
import { oldServerFor, openImportHome, tallyOf } from './fixture-import.ts'

const PATH = `/v1/conversations/${conversationId(1, 1)}/messages`
/** With the trailing slash of lists. */
const isAt = (path: string) => (request: OldRequest) => request.path.replace(/\/$/, '') === path

const failures = ({ remarks }: ImportReport) => remarks.filter(({ outcome }) => outcome === 'failed')

type Broken = {
  title: string
  fault(request: OldRequest): OldFault | undefined
  /** Of the failed object. */
  kind: string
  id: RegExp
  reason: RegExp
}

/** Faults that concern one object: it is named, and everything else arrives. */
const BROKEN: Broken[] = [
  {
    title: 'drops the connection in the middle of a page of messages',
    fault: (request) => (isAt(PATH)(request) ? { type: 'drop' } : undefined),
    kind: 'message',
    id: /^after the beginning$/,
    reason: /conv-.*\/messages broke off/,
  },
  {
    title: 'answers 500 for one agent',
    fault: (request) => (isAt(`/v1/agents/${agentId(1)}`)(request) ? { type: 'status', status: 500 } : undefined),
    kind: 'agent',
    id: new RegExp(agentId(1)),
    reason: /answered with 500: .*unknown error/,
  },
  {
    title: 'answers with a web page',
    fault: (request) => (isAt('/v1/tools')(request) ? { type: 'html' } : undefined),
    kind: 'tool',
    id: /after the beginning of \/v1\/tools/,
    reason: /a web page instead of JSON/,
  },
]

for (const { title, fault, kind, id, reason } of BROKEN)
  test(`an old server that ${title} is named in the report, everything else arrives, and the same request carries on`, async (context) => {
    let isBroken = true
    const old = await oldServerFor(context, { faultOf: (request) => (isBroken ? fault(request) : undefined) })
    const home = await openImportHome(context)
    const report = await home.importFrom(old.url)
    assert.equal(report.record.state, 'done', report.record.failure)
    assert.equal(report.complete, false)
    const [failed] = failures(report)
    assert.equal(failed?.kind, kind)
    assert.match(failed!.sourceId, id)
    assert.match(failed!.reason!, reason)
    assert.ok(tallyOf(report, 'agent')!.imported >= 2)
    assert.ok(tallyOf(report, 'passage')!.imported >= 10)
    isBroken = false
    const mended = await home.importFrom(old.url)
    assert.ok(mended.complete, JSON.stringify(mended.tallies))
    assert.deepEqual(failures(mended), [])
    assert.deepEqual((await checkStore(home.app.context)).violations, [])
  })

test('a connection that drops once is tried again without a word', async (context) => {
  const old = await oldServerFor(context, { faultOf: ({ count }) => (count === 1 ? { type: 'drop' } : undefined) })
  const home = await openImportHome(context)
  const report = await home.importFrom(old.url)
  assert.ok(report.complete, report.record.failure)
})

test('a server that limits all requests fails the import with what to do, and the same request goes on', async (context) => {
  let isLimited = false
  const faultOf = ({ path }: OldRequest): OldFault | undefined => {
    if (path.includes(agentId(2))) isLimited ||= isArmed
    return isLimited ? { type: 'status', status: 429, headers: { 'retry-after': '1' } } : undefined
  }
  let isArmed = true
  const old = await oldServerFor(context, { faultOf })
  const home = await openImportHome(context)
  const report = await home.importFrom(old.url)
  assert.equal(report.record.state, 'failed')
  assert.match(report.record.failure!, /limits the requests \(429\); use a lower --rate.*run the same import again/)
  isArmed = false
  isLimited = false
  const again = await home.importFrom(old.url, { rate: 500 })
  assert.ok(again.complete)
  assert.equal(again.record.id, report.record.id)
  assert.equal(again.record.passes, 2)
})

test('what is not a Letta server, or is gone, is said in one sentence', async (context) => {
  const old = await oldServerFor(context, { faultOf: () => ({ type: 'html' }) })
  const home = await openImportHome(context)
  const html = await home.importFrom(old.url)
  assert.match(html.record.failure!, /does not look like a Letta server: .*web page.*Check the address/)
  await old.close()
  const gone = await home.importFrom(old.url)
  assert.match(gone.record.failure!, /http:\/\/127\.0\.0\.1:\d+ does not answer/)
})

test('a wrong password is refused with the flag that gives it; the right one is not stored in clear', async (context) => {
  const old = await oldServerFor(context, { password: 'tea-at-five' })
  const home = await openImportHome(context)
  const refused = await home.importFrom(old.url)
  assert.match(refused.record.failure!, /refuses the key \(401\); give its password with --key/)
  const let_in = await home.importFrom(old.url, {}, 'tea-at-five')
  assert.ok(let_in.complete)
  assert.doesNotMatch(
    JSON.stringify(await home.app.context.deps.store.imports.list(home.app.context.organizationId)),
    /tea-at-five/,
  )
})

test('a message of 20 MB arrives whole, and bytes that are not UTF-8 are named', async (context) => {
  const large = 'x'.repeat(20_000_000)
  const old = await oldServerFor(context, {
    size: { agents: 1 },
    edit: (object) => (object.id === messageId(0, 0, 4) ? { ...object, content: large } : object),
    faultOf: (request) =>
      isAt(`/v1/conversations/${conversationId(0, 1)}/messages`)(request) ? { type: 'not-utf8' } : undefined,
  })
  const home = await openImportHome(context)
  const report = await home.importFrom(old.url)
  assert.ok(report.complete, report.record.failure)
  const { store } = home.app.context.deps
  const message = await store.messages.get(home.app.context.organizationId, messageId(0, 0, 4) as never)
  assert.equal(JSON.stringify(message?.body).includes(large), true)
  const remark = report.remarks.find(({ reason }) => reason?.includes('UTF-8'))
  assert.match(remark!.reason!, /Invalid UTF-8 in message-.* became replacement characters/)
})

test('two objects with one id: the first is imported and the second is named', async (context) => {
  const edit = (object: { id: string }) =>
    object.id === blockId(3) ? { ...object, id: blockId(2), value: 'another' } : object
  const old = await oldServerFor(context, { edit })
  const home = await openImportHome(context)
  const report = await home.importFrom(old.url)
  const remark = report.remarks.find(({ kind, outcome }) => kind === 'block' && outcome === 'left-out')
  assert.match(remark!.reason!, new RegExp(`two objects with the id ${blockId(2)}; the first one was imported`))
  assert.ok(report.complete)
})

test('a message in the middle of a context that the old server lists nowhere is named in the report', async (context) => {
  const hidden = [messageId(0, 1, 36), messageId(1, 0, 44)]
  const old = await oldServerFor(context, { hides: (id) => hidden.includes(id) })
  const home = await openImportHome(context)
  const report = await home.importFrom(old.url)
  assert.ok(report.complete, JSON.stringify(report.tallies))
  const named = report.remarks.filter(({ reason }) => reason?.includes('in the context of its model'))
  assert.deepEqual(
    named.map(({ sourceId, parent, outcome }) => [sourceId, parent, outcome]),
    [
      [hidden[0], conversationId(0, 1), 'left-out'],
      [hidden[1], agentId(1), 'left-out'],
    ],
  )
  const again = await home.importFrom(old.url)
  assert.deepEqual(again.tallies, report.tallies)
})

test('a list that broke off says nothing of what it might have hidden', async (context) => {
  let isBroken = true
  const faultOf = (request: OldRequest): OldFault | undefined =>
    isBroken && isAt(PATH)(request) ? { type: 'drop' } : undefined
  const old = await oldServerFor(context, { faultOf })
  const home = await openImportHome(context)
  await home.importFrom(old.url)
  isBroken = false
  const report = await home.importFrom(old.url)
  // Had the first pass named them as hidden, the second would pass over them.
  assert.equal(tallyOf(report, 'message')?.leftOut, 6)
  assert.equal(tallyOf(report, 'message')?.imported, 6 * 44)
})

test('a body that never ends is given up after 64 MB and named; everything else arrives, and memory does not hold more', async (context) => {
  let isEndless = true
  const faultOf = (request: OldRequest): OldFault | undefined =>
    isEndless && isAt(PATH)(request) ? { type: 'endless' } : undefined
  const old = await oldServerFor(context, { faultOf })
  const home = await openImportHome(context)
  const report = await home.importFrom(old.url)
  assert.equal(report.record.state, 'done', report.record.failure)
  const [failed] = failures(report)
  assert.deepEqual([failed?.kind, failed?.parent], ['message', conversationId(1, 1)])
  assert.match(failed!.reason!, /GET .*\/messages is longer than 64 MB, even for one object/)
  assert.equal(tallyOf(report, 'agent')?.imported, 3)
  assert.equal(tallyOf(report, 'message')!.imported + tallyOf(report, 'message')!.leftOut, 45 * 5)
  isEndless = false
  const mended = await home.importFrom(old.url)
  assert.ok(mended.complete, JSON.stringify(mended.tallies))
  assert.deepEqual((await checkStore(home.app.context)).violations, [])
})

test('a list that repeats its first page for ever ends, and what is out of reach is named', async (context) => {
  const size = { agents: 2, messages: 700 }
  const old = await oldServerFor(context, { size, ignoresCursor: (path) => path === PATH })
  const home = await openImportHome(context)
  const report = await home.importFrom(old.url)
  assert.equal(report.record.state, 'done')
  assert.match(failures(report)[0]!.reason!, /repeats a page after message-/)
  // The first page is here once.
  assert.equal(tallyOf(report, 'message')!.imported + tallyOf(report, 'message')!.leftOut, 700 * 3 + 500)
  assert.deepEqual((await checkStore(home.app.context)).violations, [])
})

test('a cursor that the server forgot leads to nothing twice', async (context) => {
  // The server begins again where the cursor is unknown.
  let forgets = false
  const ignoresCursor = (path: string) => forgets && path.endsWith('/messages')
  const old = await oldServerFor(context, { size: { agents: 1, messages: 30 }, ignoresCursor })
  const home = await openImportHome(context)
  await home.importFrom(old.url)
  const before = await countMessages(home)
  old.grow({ messages: 60 })
  forgets = true
  const report = await home.importFrom(old.url)
  assert.ok(report.complete)
  assert.equal(await countMessages(home), before + 60)
  const again = await home.importFrom(old.url)
  assert.deepEqual(again.tallies, report.tallies)
})

async function countMessages({ app }: Awaited<ReturnType<typeof openImportHome>>): Promise<number> {
  return (await checkStore(app.context)).messages
}

test('ids that are taken are replaced, and the report lists which', async (context) => {
  const old = await oldServerFor(context, { size: { agents: 1 } })
  const home = await openImportHome(context)
  const { store } = home.app.context.deps
  const made = await createAgent({ name: 'mine', model: 'test/model' }, home.app.context)
  const taken = { ...made, id: agentId(0) as never }
  await store.agents.create(taken, 'conv-99999999-9999-4999-8999-999999999999')
  await store.tools.create({
    id: toolId(900) as never,
    organizationId: home.app.context.organizationId,
    name: 'look_up',
    description: '',
    toolType: 'custom',
    sourceType: 'python',
    sourceCode: 'def look_up(): pass',
    jsonSchema: {},
    tags: [],
    returnCharLimit: 1,
    needsApproval: false,
    parallel: false,
    wire: {},
    createdAt: 0,
    updatedAt: 0,
  })
  const report = await home.importFrom(old.url)
  assert.ok(report.complete, JSON.stringify(report.tallies))
  assert.equal(tallyOf(report, 'agent')?.remapped, 1)
  const remark = report.remarks.find(({ kind, outcome }) => kind === 'agent' && outcome === 'imported')
  assert.equal(remark?.sourceId, agentId(0))
  assert.match(remark!.reason!, /id was taken/)
  const imported = await store.agents.get(home.app.context.organizationId, remark!.targetId as never)
  assert.equal(imported?.name, 'agent-0')
  const tool = report.remarks.find(
    ({ kind, reason }) => kind === 'tool' && reason?.includes('Another tool named look_up'),
  )
  assert.equal(tool?.targetId, toolId(900))
  assert.deepEqual((await checkStore(home.app.context)).violations, [])
})

test('a second import brings what is new, and not what was deleted here', async (context) => {
  const old = await oldServerFor(context)
  const home = await openImportHome(context)
  const first = await home.importFrom(old.url)
  const { store } = home.app.context.deps
  await store.agents.delete(home.app.context.organizationId, agentId(1) as never)
  await store.blocks.delete(home.app.context.organizationId, blockId(3) as never)
  assert.deepEqual((await checkStore(home.app.context)).violations, [])
  old.grow({ agents: 4, messages: 51 })
  const second = await home.importFrom(old.url)
  assert.ok(second.complete, JSON.stringify(second.tallies))
  assert.equal(tallyOf(second, 'agent')?.imported, tallyOf(first, 'agent')!.imported)
  assert.equal(tallyOf(second, 'agent')?.deleted, 1)
  assert.equal(await store.agents.get(home.app.context.organizationId, agentId(1) as never), undefined)
  const conversation = await store.conversations.get(home.app.context.organizationId, conversationId(0, 1) as never)
  const messages = await store.messages.list(home.app.context.organizationId, conversation!.id, {
    limit: 100,
    take: 'oldest',
  })
  assert.equal(messages.at(-1)?.id, messageId(0, 1, 50))
  assert.deepEqual((await checkStore(home.app.context)).violations, [])
})

test('some agents only, with their tools and blocks; a dry run writes nothing; an unknown agent is said', async (context) => {
  const old = await oldServerFor(context)
  const home = await openImportHome(context)
  const trial = await home.importFrom(old.url, { dryRun: true })
  assert.equal(tallyOf(trial, 'message')?.source, 270)
  assert.equal(await home.app.context.deps.store.agents.count(home.app.context.organizationId), 0)
  const unknown = await home.importFrom(old.url, { agents: ['nobody'] })
  assert.match(unknown.record.failure!, /has no agent "nobody"/)
  const some = await home.importFrom(old.url, { agents: ['agent-1', agentId(2)] })
  assert.ok(some.complete)
  assert.deepEqual(
    [tallyOf(some, 'agent')?.imported, tallyOf(some, 'tool')?.imported, tallyOf(some, 'block')?.imported],
    [2, 2, 3],
  )
  const all = await home.importFrom(old.url)
  assert.ok(all.complete)
  assert.equal(tallyOf(all, 'agent')?.imported, 3)
})
