import type { Migration } from './migration.ts'

export const erasure: Migration = {
  number: 15,
  name: 'erasure',
  digest: 'db6fa18f52487322',
  up: ({ name, identity }) => [
    // The agent that a block was made with: it is deleted with that agent, unless another one has it.
    'alter table blocks add column made_for text',
    'create index blocks_made_for on blocks (made_for) where made_for is not null',

    // Agents whose rows are deleted and whose streams, files and index entries may be left: a crash repeats the rest.
    `create table erasures (
      number ${identity},
      organization_id text not null,
      agent_id text not null
    )`,

    // Words of deleted passages leave the index at once, not with a later merge.
    ...(name === 'sqlite' ? [`insert into passages_search (passages_search, rank) values ('secure-delete', 1)`] : []),
  ],
}
