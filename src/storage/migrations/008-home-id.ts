import type { Migration } from './migration.ts'

/** A name of the database itself: the console's cookie carries it, because cookies ignore the port of a server. */
export const homeIdentity: Migration = {
  number: 8,
  name: 'home-id',
  digest: '320dfe6e64ff453b',
  up: ({ name }) => [
    'create table homes (id text not null primary key)',
    name === 'postgres'
      ? `insert into homes (id) values (substr(md5(random()::text || clock_timestamp()::text), 1, 8))`
      : 'insert into homes (id) values (lower(hex(randomblob(4))))',
  ],
}
