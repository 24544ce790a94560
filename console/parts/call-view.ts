import { html } from '../html.ts'
import { PlainText } from './markdown.ts'
import { visible } from './markup.ts'

type Arguments = Record<string, unknown>

/** The arguments of a call as a person reads them: commands and edits as such, everything else field by field. */
export function CallView({ name, args }: { name: string; args: string }) {
  const input = parse(args)
  if (!input) return html`<${PlainText} text=${args} />`
  const { command, old_string: before, new_string: after, find, replace, ...rest } = input
  const removed = before ?? find
  const added = after ?? replace
  return html`
    ${typeof command === 'string' && html`<pre class="plain command" tabindex="0">$ ${visible(command)}</pre>`}
    ${typeof removed === 'string' && typeof added === 'string' && html`<${Diff} removed=${removed} added=${added} />`}
    <${Fields} of=${typeof removed === 'string' && typeof added === 'string' ? rest : { ...rest, ...leftOver({ before, after, find, replace }) }} tool=${name} />
  `
}

/** Fields of an edit that has only one side. */
function leftOver({ before, after, find, replace }: Record<string, unknown>): Arguments {
  const named: Arguments = { old_string: before, new_string: after, find, replace }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}

function Fields({ of }: { of: Arguments; tool: string }) {
  const entries = Object.entries(of)
  if (entries.length === 0) return null
  return html`
    <dl class="fields">
      ${entries.map(
        ([key, value]) =>
          html`<dt>${visible(key)}</dt><dd>${
            typeof value === 'string'
              ? html`<${PlainText} text=${value} />`
              : html`<code>${visible(JSON.stringify(value))}</code>`
          }</dd>`,
      )}
    </dl>
  `
}

/** Line by line; the signs say it too, not only the colors. */
function Diff({ removed, added }: { removed: string; added: string }) {
  const lines = (text: string, sign: string) =>
    visible(text)
      .split('\n')
      .map((line) => `${sign} ${line}`)
      .join('\n')
  return html`
    <pre class="plain diff" tabindex="0"><span class="removed">${lines(removed, '−')}</span>${'\n'}<span class="added">${lines(added, '+')}</span></pre>
  `
}

function parse(text: string): Arguments | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Arguments) : undefined
  } catch {
    return undefined
  }
}
