import type { Migration } from './migration.ts'

/**
 * Triggers keep the value that a change replaces, in the transaction of the change, so that no statement can forget to.
 * Kept of a block: its last 100 versions, and of these the newest with at most 1,000,000 characters, but at least one.
 */
export const blockVersions: Migration = {
  number: 17,
  name: 'block-versions',
  digest: 'eba52104a5430ce9',
  up: ({ name, clustered }) => {
    const keep = `
      insert into block_versions (block_id, version, organization_id, written_at, author, characters, value)
      values (old.id, old.version, old.organization_id, coalesce(old.written_at, old.updated_at), old.author,
        length(old.value), old.value);
      delete from block_versions where block_id = old.id and version < old.version and (
        version <= old.version - 100 or version in (
          select version from (
            select version, sum(characters) over (order by version desc) as total
            from block_versions where block_id = old.id
          ) as kept where total > 1000000
        )
      );`
    const remove = 'delete from block_versions where block_id = old.id;'
    return [
      // Who wrote the value that the block has, and when. Null: before this column, or by an import.
      'alter table blocks add column author text',
      'alter table blocks add column written_at bigint',

      // The value comes last: its neighbors are read without it.
      `create table block_versions (
        block_id text not null,
        version integer not null,
        organization_id text not null,
        written_at bigint not null,
        author text,
        characters integer not null,
        value text not null,
        primary key (block_id, version)
      ) ${clustered}`,
      'create index block_versions_by_organization on block_versions (organization_id)',

      ...(name === 'sqlite'
        ? [
            `create trigger keep_block_version after update of version on blocks when old.version <> new.version begin ${keep} end`,
            `create trigger remove_block_versions after delete on blocks begin ${remove} end`,
          ]
        : [
            `create function keep_block_version() returns trigger language plpgsql as $$ begin ${keep} return null; end $$`,
            `create trigger keep_block_version after update of version on blocks for each row
              when (old.version <> new.version) execute function keep_block_version()`,
            `create function remove_block_versions() returns trigger language plpgsql as $$ begin ${remove} return null; end $$`,
            'create trigger remove_block_versions after delete on blocks for each row execute function remove_block_versions()',
          ]),
    ]
  },
}
