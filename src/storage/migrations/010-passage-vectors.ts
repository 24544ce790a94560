import type { Migration } from './migration.ts'

export const passageVectors: Migration = {
  number: 10,
  name: 'passage-vectors',
  up: ({ clustered }) => [
    // A passage without a row waits for its vector; one with a refusal has none from this model and never will.
    `create table passage_vectors (
      passage_number bigint not null primary key,
      organization_id text not null,
      agent_id text not null,
      model text not null,
      vector text,
      refusal text
    ) ${clustered}`,
    'create index passage_vectors_by_agent on passage_vectors (agent_id, model, passage_number)',
  ],
}
