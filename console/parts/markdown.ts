import { useMemo } from 'preact/hooks'
import { html } from '../html.ts'
import { BlockListView } from './block-list.ts'
import { blocksOf, visible } from './markup.ts'

const MAX_TEXT = 2_000_000

/** Text of a model as Markdown; what tries to be HTML is shown as text or left out. */
export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text])
  return blocks ? html`<${BlockListView} finished=${blocks} />` : html`<${PlainText} text=${text} />`
}

/** Text of tools, exactly as it is: control and invisible characters are shown by their names. */
export function PlainText({ text }: { text: string }) {
  const shown =
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n… ${text.length - MAX_TEXT} more characters` : text
  return html`<pre class="plain" tabindex="0">${visible(shown)}</pre>`
}
