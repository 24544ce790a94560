import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../html.ts'
import { markupOf, visible } from './markup.ts'

/** How long one frame draws finished blocks. The rest follows in the next frames. */
const SLICE_MS = 8

type BlockList = {
  /** `finished` may be the same array, grown: what was drawn stays. */
  show(finished: readonly string[], open: string): void
  end(): void
}

/** Draws blocks of Markdown into an element: a finished one once, the open one with each change. */
function newBlockList(container: HTMLElement): BlockList {
  let blocks: readonly string[] = []
  let drawn = 0
  let frame = 0
  let open: { text: string; element: HTMLElement } | undefined

  function drawFinished(): void {
    frame = 0
    const until = performance.now() + SLICE_MS
    while (drawn < blocks.length) {
      container.insertBefore(elementOf(blocks[drawn++]!), open?.element ?? null)
      if (performance.now() > until) break
    }
    if (drawn < blocks.length) frame = requestAnimationFrame(drawFinished)
  }

  function drawOpen(text: string): void {
    if (text === (open?.text ?? '')) return
    const element = elementOf(text)
    if (open) open.element.replaceWith(element)
    else container.append(element)
    open = { text, element }
  }

  return {
    show(finished, text) {
      if (finished !== blocks) {
        container.textContent = ''
        open = undefined
        drawn = 0
        blocks = finished
      }
      if (frame === 0) drawFinished()
      drawOpen(text)
    },
    end: () => cancelAnimationFrame(frame),
  }
}

/** A text that is too hard for the parser is shown as it is. */
function elementOf(text: string): HTMLElement {
  const element = document.createElement('div')
  element.className = 'block'
  const markup = markupOf(text)
  if (markup !== undefined) element.innerHTML = markup
  else {
    const plain = document.createElement('pre')
    plain.className = 'plain'
    plain.tabIndex = 0
    plain.textContent = visible(text)
    element.append(plain)
  }
  return element
}

export function BlockListView({ finished, open = '' }: { finished: readonly string[]; open?: string }) {
  const container = useRef<HTMLDivElement>(null)
  const list = useRef<BlockList | undefined>(undefined)
  useLayoutEffect(() => {
    list.current = newBlockList(container.current!)
    return () => list.current?.end()
  }, [])
  useLayoutEffect(() => list.current?.show(finished, open))
  return html`<div class="markdown" ref=${container}></div>`
}
