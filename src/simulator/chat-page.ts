import type { IncomingMessage, ServerResponse } from 'node:http'

/** What the page of a simulated chat platform shows, and what it can do. */
type ChatPage = {
  /** The name of the platform. */
  platform: string
  /** Who writes. */
  person: string
  messages(): PageMessage[]
  say(text: string): void
  /** Whether there is such a message. */
  press(messageId: string, data: string): boolean
}

type PageMessage = {
  message_id: string
  name: string
  is_bot: boolean
  text: string
  buttons: readonly { text: string; callback_data: string }[]
}

/** How a file of the bot is shown where only text is. */
export const fileLine = ({ name, bytes }: { name: string; bytes?: Uint8Array }): string =>
  `[file ${name}, ${bytes?.length ?? 0} bytes]`

const MOST_SHOWN = 200

/** A page in which a person talks to the bots of a simulated platform, and the requests that it makes. */
export async function answerPage(request: IncomingMessage, response: ServerResponse, page: ChatPage): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://local').pathname
  if (request.method === 'GET' && path === '/') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY })
    response.end(PAGE.replaceAll('PLATFORM', page.platform).replace('PERSON', page.person))
    return
  }
  if (request.method === 'GET' && path === '/messages')
    return sendJson(response, 200, page.messages().slice(-MOST_SHOWN))
  // A page of another site cannot send JSON without asking first, and is not answered.
  const isJson = request.headers['content-type'] === 'application/json'
  if (request.method === 'POST' && isJson && path === '/say') {
    const { text } = await readJson(request)
    if (typeof text !== 'string' || text.trim() === '') return sendJson(response, 400, { error: '`text` is missing' })
    page.say(text)
    return sendJson(response, 200, {})
  }
  if (request.method === 'POST' && isJson && path === '/press') {
    const { message_id: id, data } = await readJson(request)
    const isPressed = typeof data === 'string' && page.press(String(id), data)
    return isPressed ? sendJson(response, 200, {}) : sendJson(response, 400, { error: 'there is no such button' })
  }
  sendJson(response, 404, { error: 'Not Found' })
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  try {
    const value: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

const POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; form-action 'self'"

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Simulated PLATFORM</title>
<style>
  :root { color-scheme: light dark; --bubble: #fff; --mine: #d9fdd3; --page: #dfe7ec; --ink: #111; --quiet: #667 }
  @media (prefers-color-scheme: dark) { :root { --bubble: #223; --mine: #153c2c; --page: #101418; --ink: #eee; --quiet: #99a } }
  body { margin: 0; font: 16px/1.45 system-ui, sans-serif; background: var(--page); color: var(--ink); height: 100dvh; display: flex; flex-direction: column }
  header { padding: .7rem 1rem; background: var(--bubble); font-weight: 600 }
  header small { color: var(--quiet); font-weight: 400 }
  main { flex: 1; overflow-y: auto; padding: 1rem; display: flex; flex-direction: column; gap: .5rem; max-width: 46rem; width: 100%; box-sizing: border-box; margin: 0 auto }
  .message { max-width: 85%; padding: .5rem .75rem; border-radius: .8rem; background: var(--bubble); white-space: pre-wrap; overflow-wrap: anywhere; align-self: flex-start }
  .mine { background: var(--mine); align-self: flex-end }
  .buttons { display: flex; gap: .4rem; margin-top: .5rem }
  .buttons button { flex: 1 }
  button { font: inherit; padding: .4rem .8rem; border: 1px solid var(--quiet); border-radius: .5rem; background: transparent; color: inherit; cursor: pointer }
  form { display: flex; gap: .5rem; padding: .8rem 1rem; background: var(--bubble) }
  input { flex: 1; font: inherit; padding: .5rem .8rem; border: 1px solid var(--quiet); border-radius: .5rem; background: transparent; color: inherit }
  .empty { color: var(--quiet); margin: auto; text-align: center }
</style>
<header>Simulated PLATFORM <small>You are PERSON. Nothing here leaves this machine.</small></header>
<main id="messages" aria-live="polite"></main>
<form id="form"><input id="text" autofocus autocomplete="off" aria-label="Message" placeholder="Message to the bot"><button>Send</button></form>
<script>
  const list = document.getElementById('messages')
  const post = (path, body) => fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  let shown = ''
  async function refresh() {
    const response = await fetch('/messages').catch(() => undefined)
    const text = response ? await response.text() : shown
    if (text === shown) return
    shown = text
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60
    list.replaceChildren(...JSON.parse(text).map(draw))
    if (list.childElementCount === 0) list.append(Object.assign(document.createElement('p'), { className: 'empty', textContent: 'Write something. The server that uses this address answers.' }))
    if (isAtEnd) list.scrollTop = list.scrollHeight
  }
  function draw({ message_id, is_bot, text, buttons }) {
    const box = Object.assign(document.createElement('div'), { className: is_bot ? 'message' : 'message mine' })
    box.append(text)
    if (buttons.length > 0) {
      const row = Object.assign(document.createElement('div'), { className: 'buttons' })
      for (const { text: label, callback_data: data } of buttons) {
        const button = Object.assign(document.createElement('button'), { textContent: label })
        button.onclick = () => post('/press', { message_id, data }).then(refresh)
        row.append(button)
      }
      box.append(row)
    }
    return box
  }
  document.getElementById('form').onsubmit = (event) => {
    event.preventDefault()
    const input = document.getElementById('text')
    if (input.value.trim() !== '') post('/say', { text: input.value }).then(refresh)
    input.value = ''
  }
  refresh()
  setInterval(refresh, 400)
</script>
</html>
`
