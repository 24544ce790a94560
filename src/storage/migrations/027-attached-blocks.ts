import type { Dialect } from '../database/dialect.ts'
import type { Migration } from './migration.ts'

/** The feed tells of an agent whose blocks are attached or detached. */
export const attachedBlocks: Migration = {
  number: 27,
  name: 'attached-blocks',
  digest: '84da8ce1b05b683e',
  up: (dialect) => [...announcingAgent('insert', 'new', dialect), ...announcingAgent('delete', 'old', dialect)],
}

function announcingAgent(event: 'insert' | 'delete', row: 'new' | 'old', { name: database }: Dialect): string[] {
  const name = `announce_agent_blocks_${event}`
  const announce = (agents: string) =>
    `insert into changes (organization_id, kind, subject_id, agent_id, verb) select organization_id, 'agent', id, id, 'changed' from agents where id in (${agents});`
  if (database === 'sqlite')
    return [`create trigger ${name} after ${event} on agent_blocks begin ${announce(`${row}.agent_id`)} end`]
  // Once for a statement, which may detach many blocks.
  return [
    `create function ${name}() returns trigger language plpgsql as $$ begin ${announce('select agent_id from affected')} return null; end $$`,
    `create trigger ${name} after ${event} on agent_blocks referencing ${row} table as affected for each statement execute function ${name}()`,
  ]
}
