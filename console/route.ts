import { signal } from '@preact/signals'
import { defined } from '../src/core/defined.ts'

/** The screen and what it shows: `#/runs/run-1?status=failed`. */
export type Route = { screen: string; id?: string; query: URLSearchParams }

function read(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  const [screen = '', id] = path.split('/').map(decodeURIComponent)
  return { screen: screen || 'inbox', query: new URLSearchParams(query), ...defined({ id: id || undefined }) }
}

export const route = signal<Route>(read())

addEventListener('hashchange', () => {
  route.value = read()
})

export function hrefOf(screen: string, id?: string, query?: Record<string, string>): string {
  const text = query ? `?${new URLSearchParams(query)}` : ''
  return `#/${screen}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${text}`
}

export const goTo = (...place: Parameters<typeof hrefOf>): void => {
  location.hash = hrefOf(...place)
}
