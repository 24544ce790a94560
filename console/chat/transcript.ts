import { memo } from 'preact/compat'
import { useRef } from 'preact/hooks'
import { html } from '../html.ts'
import { BlockListView } from '../parts/block-list.ts'
import { CallView } from '../parts/call-view.ts'
import { Markdown, PlainText } from '../parts/markdown.ts'
import { visible } from '../parts/markup.ts'
import { newGrowingBlocks } from './growing-blocks.ts'
import type { CallItem, Item } from './items.ts'

/** What is done by messages: forking is offered where a fork makes sense. */
type Actions = { onFork?: (messageId: string) => void }

export function Transcript({ items, isLive, onFork }: { items: readonly Item[]; isLive?: boolean } & Actions) {
  return html`${items.map((item, index) => html`<${MemoItem} key=${item.key} item=${item} isLive=${isLive} onFork=${endsTurn(items, index) ? onFork : undefined} />`)}`
}

const endsTurn = (items: readonly Item[], index: number): boolean =>
  items[index + 1] === undefined || items[index + 1]!.type === 'user'

/** An item that changes is another object. */
const MemoItem = memo(ItemView)

function ItemView({ item, isLive, onFork }: { item: Item; isLive?: boolean } & Actions) {
  switch (item.type) {
    case 'user':
      return html`
        <article class="said user" aria-label="You">
          <p class="text">${visible(item.text)}</p>
          ${item.images.map((source) => html`<img src=${source} alt="An image that was sent" loading="lazy" />`)}
        </article>`
    case 'assistant':
      return html`
        <article class="said assistant" aria-label="The agent">
          ${isLive ? html`<${GrowingMarkdown} text=${item.text} />` : html`<${Markdown} text=${item.text} />`}
          ${item.messageId && onFork && html`<button class="quiet small" onClick=${() => onFork(item.messageId!)} title="Begin another conversation with everything up to here">Fork here</button>`}
        </article>`
    case 'reasoning':
      return html`<details class="reasoning"><summary>Reasoning</summary><${PlainText} text=${item.text} /></details>`
    case 'call':
      return html`<${CallCard} item=${item} />`
    case 'note':
      return html`<p class=${item.tone === 'fault' ? 'fault' : 'note'}>${visible(item.text)}</p>`
  }
}

function CallCard({ item }: { item: CallItem }) {
  const { name, args, result, progress, needsApproval } = item
  const state = result ? result.status : needsApproval ? 'waiting' : 'running'
  return html`
    <details class=${`tool ${state}`}>
      <summary><code>${visible(name || '…')}</code> <span class="state">${STATES[state]}</span> ${!result && progress && html`<span class="age">${lastLine(progress)}</span>`}</summary>
      <${CallView} name=${name} args=${args} />
      ${progress && !result && html`<${PlainText} text=${progress} />`}
      ${
        result &&
        html`<div class="result">${result.text !== '' && html`<${PlainText} text=${result.text} />`}
        ${(result.images ?? []).map((source) => html`<img src=${source} alt="An image that the tool returned" loading="lazy" />`)}</div>`
      }
    </details>`
}

const STATES = { success: 'done', error: 'failed', waiting: 'waits for approval', running: 'running …' }

const lastLine = (text: string): string => visible(text.trimEnd().split('\n').at(-1)!.slice(-80))

/** A piece costs the work of the open block, not of the text before it. */
function GrowingMarkdown({ text }: { text: string }) {
  const blocks = useRef(newGrowingBlocks())
  const { finished, open } = blocks.current.take(text)
  return html`<${BlockListView} finished=${finished} open=${open} />`
}
