import type { Migration } from './migration.ts'

/** The scopes with `agent` no longer include bringing the source of tools. Keys from before keep what they could do. */
export const toolsScope: Migration = {
  number: 10,
  name: 'tools-scope',
  digest: '2ac1693f88a7ed2d',
  up: () => [
    `update api_keys set scope = 'agent tools' where scope = 'agent'`,
    `update api_keys set scope = 'agent approve tools' where scope = 'agent approve'`,
  ],
}
