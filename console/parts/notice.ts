import type { Failure } from '../api.ts'
import { html } from '../html.ts'
import type { Resource } from '../resource.ts'
import { visible } from './markup.ts'

/** Says what went wrong, in the words of the server. */
export function Fault({ failure }: { failure: Failure | undefined }) {
  return failure ? html`<p class="fault" role="alert">${visible(failure.detail)}</p>` : null
}

/** What stands in place of a list that has not arrived, could not be read, or is empty. */
export function ListState({ resource, empty }: { resource: Resource<unknown[]>; empty: string }) {
  const { value, failure } = resource
  if (failure)
    return html`<p class="fault" role="alert">${visible(failure.detail)} <button class="quiet" onClick=${resource.reload}>Try again</button></p>`
  if (!value) return html`<p class="empty" role="status">Loading …</p>`
  return value.length === 0 ? html`<p class="empty">${empty}</p>` : null
}
