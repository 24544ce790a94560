import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEY } from './fixture-server-process.ts'
import { serveOpenai } from './openai-clients.ts'

const MODEL = 'agent:ada'
type Sent = { role: 'user' | 'assistant' | 'system'; content: string }
const user = (content: string): Sent => ({ role: 'user', content })
const assistant = (content: string): Sent => ({ role: 'assistant', content })

/** Requests as a front end sends them, streamed, without any library of OpenAI's. */
async function serveFrontEnd(context: Parameters<typeof serveOpenai>[0]) {
  const served = await serveOpenai(context)
  const { simulator, url } = served
  simulator.script({ answer: { text: 'Yes.' } })
  return {
    ...served,
    async ask(messages: Sent[], headers: Record<string, string> = {}, more: object = {}) {
      const response = await fetch(`${url}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: MODEL, stream: true, messages, ...more }),
      })
      const text = await response.text()
      return { response, text, conversation: response.headers.get('x-holdfast-conversation') }
    },
  }
}

/** The prompts of Open WebUI, as it sends them to the same model after the first answer. */
const CHORES: Record<string, string> = {
  title:
    '### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n- …\n### Output:\nJSON format: { "title": "…" }\n### Chat History:\n<chat_history>\nUSER: Hello\nASSISTANT: Yes.\n</chat_history>',
  tags: '### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific subtopic tags.\n### Chat History:\n<chat_history>\nUSER: Hello\n</chat_history>',
  'follow-ups':
    '### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this conversation.\n### Chat History:\n<chat_history>\nUSER: Hello\n</chat_history>',
}

test('Open WebUI: a chat is one conversation by its header, and its chores leave no trace in it', async (context) => {
  const { ask, sent, fetch: get, agent, client } = await serveFrontEnd(context)
  const headers = {
    'x-openwebui-chat-id': 'f3b2',
    'x-openwebui-user-id': 'u1',
    'x-openwebui-user-name': 'Bo',
    'x-openwebui-message-id': 'm1',
  }
  const first = await ask([user('Hello')], headers)
  assert.match(first.text, /"content":"Yes\./)
  assert.match(first.text, /data: \[DONE\]\n\n$/)
  for (const [chore, prompt] of Object.entries(CHORES)) {
    for (const sentHeaders of [{}, headers]) {
      const { response, conversation } = await ask([user(prompt)], sentHeaders, { stream: false })
      assert.equal(response.headers.get('x-holdfast-chore'), chore)
      assert.notEqual(conversation, first.conversation)
      const run = (await get('GET', `/v1/runs/${response.headers.get('x-run-id')}`)).body as { metadata: object }
      const { chore: listed, once } = run.metadata as { chore: string; once: boolean }
      assert.deepEqual([listed, once], [chore, true])
    }
  }
  const second = await ask([user('Hello'), assistant('Yes.'), user('And?')], headers)
  assert.equal(second.conversation, first.conversation)
  assert.deepEqual(sent(), ['user: Hello', 'assistant: Yes.', 'user: And?'])
  const listed = await client.conversations.list({ agent_id: agent.id })
  assert.deepEqual(
    listed.map(({ id }) => id),
    [first.conversation],
    'chores are in no list of conversations',
  )
})

test('Open WebUI: a question with sources has the heading of a chore and is a turn of the person', async (context) => {
  const { ask } = await serveFrontEnd(context)
  const prompt = '### Task:\nRespond to the user query using the provided context, incorporating inline citations.\n…'
  const { response } = await ask([user(prompt)], { 'x-openwebui-chat-id': 'c1' })
  assert.equal(response.headers.get('x-holdfast-chore'), null)
  const own = await ask([user('### Task: write my essay')], { 'x-openwebui-chat-id': 'c2' })
  assert.equal(own.response.headers.get('x-holdfast-chore'), null, 'a person may write a heading, too')
})

test('Open WebUI: an edited message and another answer begin a branch, and the chat goes on in it', async (context) => {
  const { ask, sent } = await serveFrontEnd(context)
  const headers = { 'x-openwebui-chat-id': 'f3b2' }
  const first = await ask([user('A')], headers)
  await ask([user('A'), assistant('Yes.'), user('B')], headers)
  const edited = await ask([user('A'), assistant('Yes.'), user('C')], headers)
  assert.notEqual(edited.conversation, first.conversation)
  assert.deepEqual(sent(), ['user: A', 'assistant: Yes.', 'user: C'])
  const next = await ask([user('A'), assistant('Yes.'), user('C'), assistant('Yes.'), user('D')], headers)
  assert.equal(next.conversation, edited.conversation)
  assert.deepEqual(sent(), ['user: A', 'assistant: Yes.', 'user: C', 'assistant: Yes.', 'user: D'])
  const again = await ask([user('A')], headers)
  assert.deepEqual(sent(), ['user: A'], 'another answer to the first message begins again')
  const onward = await ask([user('A'), assistant('Yes.'), user('E')], headers)
  assert.equal(onward.conversation, again.conversation)
})

test('LibreChat: a new chat has no id yet, its second request has, and its title is a chore', async (context) => {
  const { ask, sent } = await serveFrontEnd(context)
  const header = (id: string) => ({ 'x-librechat-conversation-id': id, 'x-librechat-user-id': 'u1' })
  await ask([user('A')], header('{{LIBRECHAT_BODY_CONVERSATIONID}}'), { user: 'u1' })
  const title = await ask(
    [
      user(
        'Provide a concise, 5-word-or-less title for the conversation, using its same language, with no punctuation.\n\nConversation:\nUser: A\nAI: Yes.',
      ),
    ],
    header('8f1c'),
    { user: 'u1' },
  )
  assert.equal(title.response.headers.get('x-holdfast-chore'), 'title')
  const second = await ask([user('A'), assistant('Yes.'), user('B')], header('8f1c'), { user: 'u1' })
  assert.deepEqual(sent(), ['user: A', 'assistant: Yes.', 'user: B'], 'its history comes with the first request')
  const third = await ask([user('A'), assistant('Yes.'), user('B'), assistant('Yes.'), user('C')], header('8f1c'), {
    user: 'u1',
  })
  assert.equal(third.conversation, second.conversation)
  assert.equal(sent().length, 5)
})

test('a reader that leaves in the middle of a stream stops nothing, and its chat goes on', async (context) => {
  const { simulator, url, fetch: get, ask, sent } = await serveFrontEnd(context)
  simulator.script(
    { when: { attempt: 1 }, answer: { text: 'A long answer.', pace: { charactersPerChunk: 2, everyMs: 20 } } },
    { answer: { text: 'Next.' } },
  )
  const headers = { 'x-openwebui-chat-id': 'cut' }
  const stop = new AbortController()
  const response = await fetch(`${url}/openai/v1/chat/completions`, {
    method: 'POST',
    signal: stop.signal,
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: MODEL, stream: true, messages: [user('Go')] }),
  })
  await response.body!.getReader().read()
  stop.abort()
  const runId = response.headers.get('x-run-id')
  const next = await ask([user('Go'), assistant('A lo'), user('On')], headers)
  assert.match(next.text, /Next\./)
  assert.deepEqual(sent(), ['user: Go', 'assistant: A long answer.', 'user: On'])
  const run = (await get('GET', `/v1/runs/${runId}`)).body as { status: string }
  assert.equal(run.status, 'completed')
})

test('the short paths under /v1 are the same, and /v1/models stays that of the other client', async (context) => {
  const { simulator, url, client } = await serveFrontEnd(context)
  simulator.script({ answer: { text: 'Yes.' } })
  const post = async (path: string, body: object) =>
    (
      await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).json() as Promise<Record<string, unknown>>
  assert.equal((await post('/v1/chat/completions', { model: MODEL, messages: [user('A')] })).object, 'chat.completion')
  assert.equal((await post('/v1/responses', { model: MODEL, input: 'A' })).object, 'response')
  assert.ok(Array.isArray(await client.models.list()))
})
