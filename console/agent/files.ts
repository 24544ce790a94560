import { useSignal } from '@preact/signals'
import type { WireContent, WireFolder } from '../../src/http/holdfast/wire/workspace-files.ts'
import { html } from '../html.ts'
import { PlainText } from '../parts/markdown.ts'
import { visible } from '../parts/markup.ts'
import { Fault } from '../parts/notice.ts'
import { save } from '../parts/save.ts'
import { bytesText } from '../parts/size.ts'
import { useResource } from '../resource.ts'
import { ageOf, clockTime } from '../times.ts'

type FilesProps = { workspace: string; agentId: string; isAsleep: boolean }

/** Reading the files of a workspace that sleeps starts its sandbox, so a person asks for it. */
export function Files({ workspace, agentId, isAsleep }: FilesProps) {
  const path = useSignal<readonly string[]>([])
  const mayWake = useSignal(false)
  const opened = useSignal<string | undefined>(undefined)
  const base = `/v1/workspaces/${workspace}/files`
  const wake = mayWake.value ? '&wake=true' : ''
  const folder = useResource<WireFolder>(
    isAsleep && !mayWake.value ? undefined : `${base}?path=${encodeURIComponent(path.value.join('/') || '.')}${wake}`,
    (change) => change.kind === 'run' && change.agent_id === agentId,
  ).value
  // It may have fallen asleep since.
  const needsWaking = !mayWake.value && (isAsleep || folder.failure?.detail.includes('wake=true'))
  if (needsWaking)
    return html`<h3>Files</h3><p class="hint">This workspace is asleep. <button class="quiet" onClick=${() => {
      mayWake.value = true
    }}>Start it and show its files</button></p>`

  function go(to: readonly string[]): void {
    path.value = to
    opened.value = undefined
  }
  const file = opened.value
  return html`
    <h3>Files</h3>
    <nav class="bar" aria-label="Folder">
      <button class="quiet" onClick=${() => go([])} aria-current=${path.value.length === 0 ? 'location' : undefined}>workspace</button>
      ${path.value.map((name, index) => html`<span key=${index}>/ <button class="quiet" onClick=${() => go(path.value.slice(0, index + 1))}>${visible(name)}</button></span>`)}
    </nav>
    <${Fault} failure=${folder.failure} />
    ${
      folder.value &&
      html`<${Entries} folder=${folder.value} opened=${file} onEnter=${(name: string) => go([...path.value, name])} onOpen=${(
        name: string,
      ) => {
        opened.value = name
      }} />`
    }
    ${file !== undefined && html`<${OpenedFile} key=${[...path.value, file].join('/')} name=${file} address=${`${base}/content?path=${encodeURIComponent([...path.value, file].join('/'))}${wake}`} />`}
  `
}

/** The server reads no larger file in one piece. */
const MOST_BYTES = 4 * 1024 * 1024

type Entry = WireFolder['entries'][number]
type EntriesProps = {
  folder: WireFolder
  opened: string | undefined
  onEnter(name: string): void
  onOpen(name: string): void
}

function Entries({ folder: { entries, is_cut: isCut }, opened, onEnter, onOpen }: EntriesProps) {
  if (entries.length === 0) return html`<p class="empty">This folder is empty.</p>`
  return html`
    <table class="files">
      <thead><tr><th>Name</th><th class="number">Size</th><th>Changed</th></tr></thead>
      <tbody>${entries.map(
        (entry) => html`<tr key=${entry.name}>
          <td><${EntryName} entry=${entry} isOpened=${entry.name === opened} onEnter=${onEnter} onOpen=${onOpen} /></td>
          <td class="number">${entry.kind === 'file' ? bytesText(entry.bytes) : ''}</td>
          <td>${entry.kind === 'other' ? '' : html`<span class="age" title=${clockTime(entry.changed_at)}>${ageOf(entry.changed_at)}</span>`}</td></tr>`,
      )}</tbody>
    </table>
    ${isCut && html`<p class="hint">This folder has more entries; 1,000 of them are shown.</p>`}
  `
}

type EntryNameProps = { entry: Entry; isOpened: boolean } & Pick<EntriesProps, 'onEnter' | 'onOpen'>

function EntryName({ entry: { name, kind, bytes }, isOpened, onEnter, onOpen }: EntryNameProps) {
  const shown = visible(name)
  if (kind === 'folder') return html`<button class="quiet" onClick=${() => onEnter(name)}>${shown}/</button>`
  if (kind === 'link') return html`${shown} <small>link</small>`
  if (kind === 'other') return html`${shown} <small>not an ordinary file</small>`
  if (bytes > MOST_BYTES) return html`${shown} <small>too large to open here</small>`
  return html`<button class="quiet" aria-expanded=${isOpened} onClick=${() => onOpen(name)}>${shown}</button>`
}

/** More text is downloaded and not shown: the page would hang. */
const SHOWN_BYTES = 256 * 1024

function OpenedFile({ name, address }: { name: string; address: string }) {
  const { value, failure } = useResource<WireContent>(address, () => false).value
  const bytes = value && Uint8Array.from(atob(value.content), (sign) => sign.charCodeAt(0))
  const text = bytes && textOf(bytes.subarray(0, SHOWN_BYTES))
  return html`
    <section aria-label="Opened file">
      <h4>${visible(name)}</h4>
      <${Fault} failure=${failure} />
      ${bytes && html`<div class="bar"><button onClick=${() => save(name, bytes)}>Download</button> <span class="age">${bytesText(bytes.length)}</span></div>`}
      ${bytes && text === undefined && html`<p class="hint">This file is not text.</p>`}
      ${bytes && bytes.length > SHOWN_BYTES && text !== undefined && html`<p class="hint">The beginning of the file; download it to see the rest.</p>`}
      ${text !== undefined && html`<${PlainText} text=${text} />`}
    </section>
  `
}

/** Undefined if it is not text. The last character may be cut. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}
