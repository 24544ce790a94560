import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { Fault } from '../parts/notice.ts'

type WhenBusy = 'queue' | 'steer' | 'interrupt'

type Attachment = { name: string; mediaType: string; data: string }

type ComposerProps = {
  /** The path of the conversation: drafts are kept by it. */
  conversation: string
  isBusy: boolean
  /** Why nothing can be sent now: an open approval, a missing scope. */
  blocked?: string | undefined
  onSent(): void
  onStop(): void
}

const WAYS: Record<WhenBusy, string> = {
  queue: 'after this turn',
  steer: 'into this turn',
  interrupt: 'instead of this turn',
}
const MAX_IMAGE_BYTES = 5_000_000

export function Composer({ conversation, isBusy, blocked, onSent, onStop }: ComposerProps) {
  const draftKey = `draft/${conversation}`
  const text = useSignal('')
  const way = useSignal<WhenBusy>('queue')
  const attachments = useSignal<Attachment[]>([])
  const isSending = useSignal(false)
  const failure = useSignal<Failure | undefined>(undefined)
  // A message keeps its identity over retries: the server recognizes it.
  const otid = useRef<string>(crypto.randomUUID())
  const field = useRef<HTMLTextAreaElement>(null)

  useEffect(() => {
    text.value = sessionStorage.getItem(draftKey) ?? ''
    field.current?.focus()
  }, [draftKey])

  function setText(value: string): void {
    text.value = value
    try {
      sessionStorage.setItem(draftKey, value)
    } catch {
      // Over the quota of the browser: a long draft lasts as long as its tab.
      sessionStorage.removeItem(draftKey)
    }
  }

  async function send(): Promise<void> {
    if (isSending.value || blocked || (text.value.trim() === '' && attachments.value.length === 0)) return
    isSending.value = true
    const content = [
      ...attachments.value.map(({ mediaType, data }) => ({
        type: 'image',
        source: { type: 'base64', media_type: mediaType, data },
      })),
      ...(text.value === '' ? [] : [{ type: 'text', text: text.value }]),
    ]
    const answer = await request('POST', `/v1/holdfast/conversations/${conversation}/messages`, {
      content,
      otid: otid.current,
      stream_tokens: true,
      when_busy: isBusy ? way.value : 'queue',
    })
    isSending.value = false
    failure.value = answer.ok ? undefined : unsent(answer.failure)
    if (!answer.ok) return
    otid.current = crypto.randomUUID()
    setText('')
    attachments.value = []
    onSent()
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    void send()
  }

  async function attach(files: Iterable<File>): Promise<void> {
    for (const file of files) {
      if (!file.type.startsWith('image/'))
        failure.value = { status: 0, detail: `${file.name} is no image. Images can be sent to agents.` }
      else if (file.size > MAX_IMAGE_BYTES) failure.value = { status: 0, detail: `${file.name} has more than 5 MB.` }
      else
        attachments.value = [
          ...attachments.value,
          { name: file.name, mediaType: file.type, data: await base64Of(file) },
        ]
    }
  }

  return html`
    <form class="composer" onSubmit=${(event: Event) => {
      event.preventDefault()
      void send()
    }}>
      <${Fault} failure=${failure.value} />
      ${blocked && html`<p class="hint">${blocked}</p>`}
      ${
        attachments.value.length > 0 &&
        html`<ul class="attachments">${attachments.value.map(
          ({ name }, index) =>
            html`<li>${name} <button type="button" class="quiet small" aria-label=${`Remove ${name}`} onClick=${() => {
              attachments.value = attachments.value.filter((_, other) => other !== index)
            }}>×</button></li>`,
        )}</ul>`
      }
      <label class="visually-hidden" for="message">Message</label>
      <textarea id="message" ref=${field} rows="3" placeholder="Message. Enter sends, Shift+Enter begins a new line." value=${text.value}
        onInput=${(event: InputEvent) => setText((event.target as HTMLTextAreaElement).value)}
        onKeyDown=${onKeyDown}
        onPaste=${(event: ClipboardEvent) => void attach([...(event.clipboardData?.files ?? [])])}></textarea>
      <div class="bar">
        <button class="primary" disabled=${isSending.value || blocked !== undefined}>Send</button>
        ${
          isBusy &&
          html`<${WayChoice} value=${way.value} onChange=${(next: WhenBusy) => {
            way.value = next
          }} />`
        }
        <label class="button quiet">Attach<input type="file" accept="image/*" multiple hidden onChange=${(
          event: Event,
        ) => {
          const input = event.target as HTMLInputElement
          void attach([...(input.files ?? [])])
          input.value = ''
        }} /></label>
        ${isBusy && html`<button type="button" class="stop" onClick=${onStop}>Stop</button>`}
      </div>
    </form>
  `
}

/** The same message, sent again, is recognized by the server. */
const unsent = ({ status, detail }: Failure): Failure => ({
  status,
  detail: status === 0 ? `${detail} Your message is kept here: send it again when the server is back.` : detail,
})

function WayChoice({ value, onChange }: { value: WhenBusy; onChange(next: WhenBusy): void }) {
  return html`
    <label>Send it
      <select value=${value} onChange=${(event: Event) => onChange((event.target as HTMLSelectElement).value as WhenBusy)}>
        ${Object.entries(WAYS).map(([key, label]) => html`<option value=${key}>${label}</option>`)}
      </select>
    </label>`
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let binary = ''
  for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768))
  return btoa(binary)
}
