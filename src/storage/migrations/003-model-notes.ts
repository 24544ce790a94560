import type { Migration } from './migration.ts'

/** Former notes have no age, so they are dropped: each is learned again from one refused request. */
export const modelNotesWithAge: Migration = {
  number: 3,
  name: 'model-notes-with-age',
  digest: 'c84eeb76d7ace12d',
  up: ({ clustered }) => [
    'drop table model_notes',
    `create table model_notes (
      organization_id text not null,
      provider text not null,
      model text not null,
      credential_id text not null,
      kind text not null,
      value text not null,
      noted_at bigint not null,
      expires_at bigint not null,
      run_id text not null,
      primary key (organization_id, provider, model, credential_id, kind)
    ) ${clustered}`,
  ],
}
