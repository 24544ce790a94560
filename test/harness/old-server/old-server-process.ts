import { startOldServer } from './old-server.ts'

/** A stand-in as a process of its own: its arguments are the options as JSON. Prints its address. */
const server = await startOldServer(JSON.parse(process.argv[2] ?? '{}'))
process.stdout.write(`${server.url}\n`)
process.on('message', (more) => server.grow(more as object))
process.on('disconnect', () => process.exit(0))
