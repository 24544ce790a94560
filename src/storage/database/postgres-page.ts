import pg, { type ClientBase, type QueryArrayConfig, type QueryConfig } from 'pg'
import { newPageCounter } from './page-bytes.ts'

/** The part of a query of `pg` that its types do not name. */
type QueryInternals = { handleDataRow(message: { fields: unknown[] }): void }

type SendQuery<Row> = (
  query: pg.Query,
  values: undefined,
  done: (fault: Error | undefined, result: { rows: Row[] }) => void,
) => void

/**
 * Keeps rows until the page is full and drops the others as they arrive. Reading in portions would spare the server
 * the others, but `pg` waits for ever when a query fails in a portion.
 */
export function queryPage<Row>(
  client: Pick<ClientBase, 'query'>,
  config: QueryConfig | QueryArrayConfig,
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query(config as QueryConfig)
    const internals = query as unknown as QueryInternals
    const counter = newPageCounter()
    const takeRow = internals.handleDataRow.bind(query)
    internals.handleDataRow = (message) => {
      if (counter.isFull()) return
      counter.count(message.fields)
      takeRow(message)
    }
    // A query with a callback of its own would never be given back by a pool.
    const send = client.query.bind(client) as unknown as SendQuery<Row>
    send(query, undefined, (fault, result) => (fault ? reject(fault) : resolve(result.rows)))
  })
}
