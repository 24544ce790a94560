import { memo } from 'preact/compat'
import { useMemo } from 'preact/hooks'
import { html } from '../html.ts'
import { CallView } from '../parts/call-view.ts'
import { Markdown, PlainText, visible } from '../parts/markdown.ts'
import type { CallItem, Item } from './items.ts'

/** What is done by messages: forking is offered where a fork makes sense. */
type Actions = { onFork?: (messageId: string) => void }

export function Transcript({ items, isLive, onFork }: { items: readonly Item[]; isLive?: boolean } & Actions) {
  return html`${items.map((item) => html`<${ItemView} key=${item.key} item=${item} isLive=${isLive} onFork=${onFork} />`)}`
}

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
      ${result && html`<div class="result"><${PlainText} text=${result.text} /></div>`}
    </details>`
}

const STATES = { success: 'done', error: 'failed', waiting: 'waits for approval', running: 'running …' }

const lastLine = (text: string): string => visible(text.trimEnd().split('\n').at(-1)!.slice(-80))

/** Finished blocks are parsed once; only the last one changes with each piece. */
function GrowingMarkdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text])
  return html`${blocks.map((block, index) =>
    index === blocks.length - 1 && block.length > MAX_LAST_BLOCK
      ? html`<p class="text" key=${index}>${visible(block)}</p>`
      : html`<${Block} key=${index} text=${block} />`,
  )}`
}

const MAX_LAST_BLOCK = 4_000

const Block = memo(Markdown)

/** Split at empty lines, but never inside a fence. */
function blocksOf(text: string): string[] {
  const blocks: string[] = []
  let current = ''
  let isFenced = false
  for (const line of text.split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) isFenced = !isFenced
    if (line.trim() === '' && !isFenced && current !== '') {
      blocks.push(current)
      current = ''
    } else current += `${line}\n`
  }
  if (current !== '') blocks.push(current)
  return blocks
}
