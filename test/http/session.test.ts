import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveKeyed } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

const OWN_PAGE = { 'sec-fetch-site': 'same-origin' }

const signIn = (url: string, key: string) =>
  fetch(`${url}/v1/session`, { method: 'POST', headers: { authorization: `Bearer ${key}` } })

/** The cookie as a browser sends it back. */
const cookieOf = (response: Response): string => response.headers.get('set-cookie')!.split(';')[0]!

const withCookie = (url: string, cookie: string, headers: Record<string, string> = OWN_PAGE) =>
  fetch(`${url}/v1/session`, { headers: { cookie, ...headers } })

test('a key is exchanged for a cookie that no script reads and no other site sends, with the scope of the key', async (context) => {
  const { url, makeKey } = await serveKeyed(context)
  const { key, id } = await makeKey({ scope: 'read' })
  const signedIn = await signIn(url, key)
  assert.equal(signedIn.status, 204)
  assert.match(
    signedIn.headers.get('set-cookie')!,
    /^holdfast-[0-9a-f]{8}=[\w-]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
  )
  const shown = await withCookie(url, cookieOf(signedIn))
  const { actor, scope } = (await shown.json()) as { actor: string; scope: string }
  assert.deepEqual([actor, scope], [id, 'read'])
  const write = await fetch(`${url}/v1/agents`, {
    method: 'POST',
    headers: { cookie: cookieOf(signedIn), ...OWN_PAGE, 'content-type': 'application/json' },
    body: '{}',
  })
  assert.equal(write.status, 403)
  assert.ok(!cookieOf(signedIn).includes(key), 'the cookie is sealed')
})

test('a page of another origin, another port of this machine included, cannot use the cookie', async (context) => {
  const { url } = await serveKeyed(context)
  const cookie = cookieOf(await signIn(url, KEY))
  for (const headers of [
    {},
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'http://127.0.0.1:1' },
  ])
    assert.equal(
      (await withCookie(url, cookie, headers as Record<string, string>)).status,
      403,
      JSON.stringify(headers),
    )
  assert.equal((await withCookie(url, cookie, { origin: url })).status, 200)
})

test('revoking the key ends what its cookie may do, and a damaged cookie is none', async (context) => {
  const { url, makeKey, as } = await serveKeyed(context)
  const { key, id } = await makeKey({ scope: 'read' })
  const cookie = cookieOf(await signIn(url, key))
  assert.equal((await withCookie(url, cookie)).status, 200)
  assert.ok((await as()('DELETE', `/v1/keys/${id}`)).status < 300)
  assert.equal((await withCookie(url, cookie)).status, 401)
  assert.equal((await withCookie(url, `${cookie.slice(0, -4)}AAAA`)).status, 401)
  assert.equal((await withCookie(url, 'holdfast-00000000=x')).status, 401)
})

test('a link signs in once, and is good for nothing else', async (context) => {
  const { url, as, makeKey } = await serveKeyed(context)
  const { path } = (await as()('POST', '/v1/session/links')).body as { path: string }
  const link = path.replace('/#sign-in=', '')
  assert.equal((await as(link)('GET', '/v1/agents')).status, 401)
  const signedIn = await signIn(url, link)
  assert.equal(signedIn.status, 204)
  const { actor } = (await (await withCookie(url, cookieOf(signedIn))).json()) as { actor: string }
  assert.equal(actor, 'home')
  assert.equal((await signIn(url, link)).status, 401)
  const { key } = await makeKey({ scope: 'agent' })
  assert.equal((await as(key)('POST', '/v1/session/links')).status, 403)
})

test('signing out removes the cookie', async (context) => {
  const { url } = await serveKeyed(context)
  const response = await fetch(`${url}/v1/session`, { method: 'DELETE' })
  assert.match(response.headers.get('set-cookie')!, /=; Max-Age=0;/)
})
