import { useSignal } from '@preact/signals'
import { defined } from '../../src/core/defined.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import type { InputPart } from '../../src/core/message.ts'
import { type Failure, request } from '../api.ts'
import { html } from '../html.ts'
import { Fault } from '../parts/notice.ts'
import { useResource } from '../resource.ts'
import { may } from '../session.ts'

type RunAgainProps = { run: { id: string; conversation_id: string }; onSent(): void }

/** Sends the message of a run again, to the same model or another one. */
export function RunAgain({ run, onSent }: RunAgainProps) {
  const failure = useSignal<Failure | undefined>(undefined)
  const model = useSignal('')
  const isSending = useSignal(false)
  const models = useResource<{ handle: string }[]>('/v1/models', () => false).value.value ?? []
  if (!may('agent')) return null

  async function send(): Promise<void> {
    isSending.value = true
    const events = await request<{ event: TurnEvent }[]>('GET', `/v1/runs/${run.id}/events`)
    const first = events.ok ? events.value[0]?.event : undefined
    const answer =
      events.ok &&
      (await request('POST', `/v1/holdfast/conversations/${run.conversation_id}/messages`, {
        content: first?.type === 'input-accepted' ? first.inputs.flatMap(({ content }) => content.map(wirePart)) : [],
        stream_tokens: true,
        when_busy: 'queue',
        ...defined({ override_model: model.value || undefined }),
      }))
    isSending.value = false
    failure.value = !events.ok ? events.failure : answer && !answer.ok ? answer.failure : undefined
    if (!failure.value) onSent()
  }

  return html`
    <div class="bar">
      <button disabled=${isSending.value} onClick=${send}>Send the message again</button>
      <label>with
        <select value=${model.value} onChange=${(event: Event) => {
          model.value = (event.target as HTMLSelectElement).value
        }}>
          <option value="">the same model</option>
          ${models.map(({ handle }) => html`<option value=${handle} key=${handle}>${handle}</option>`)}
        </select>
      </label>
    </div>
    <${Fault} failure=${failure.value} />
  `
}

function wirePart(part: InputPart): object {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { source } = part
  return {
    type: 'image',
    source:
      'url' in source
        ? { type: 'url', url: source.url }
        : { type: 'base64', media_type: source.mediaType, data: source.data },
  }
}
